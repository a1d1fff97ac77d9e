package api

import "github.com/rollcall-go/rollcall/internal/wire"

// notPresent is what Nacos says of a parameter that its framework requires and
// not its own code.
func notPresent(name string) error {
	return wire.BadRequestf("Required String parameter '%s' is not present", name)
}

// bound returns a parameter that Nacos' framework requires.
func (c *call) bound(name string) (string, error) {
	v := c.Get(name)
	if v == "" {
		return "", notPresent(name)
	}
	return v, nil
}

// boundServiceKey reads the service where Nacos leaves the check of what is
// missing to its framework.
func (c *call) boundServiceKey() (wire.ServiceKey, error) {
	if c.Get("serviceName", "dom") == "" {
		return wire.ServiceKey{}, notPresent("serviceName")
	}
	return c.ServiceKey()
}
