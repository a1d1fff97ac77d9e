package autoconfig

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/rollcall-go/rollcall/autoconfig/internal/config"
	"github.com/rollcall-go/rollcall/internal/nacosclient"
)

// validate adds the mistakes that only show when blocks are seen together, or
// when a part looks at its options.
func (s *settings) validate(c *config.Config, ownBackend bool) {
	if s.nacosBackend(ownBackend).holds {
		servers, key := s.nacos.servers()
		err := nacosclient.Options{Servers: servers, ContextPath: s.nacos.Discovery.ContextPath}.Validate()
		report(c, key, err)
		if _, err := s.nacos.Discovery.TLS.config(); err != nil {
			key, reason, _ := strings.Cut(err.Error(), ": ")
			c.Problem("cloud.nacos.discovery.tls."+key, reason)
		}
	}
	if !s.registration().holds {
		return
	}
	if (s.nacosBackend(ownBackend).holds || ownBackend) && s.serviceID().Name == "" {
		c.Problem("application.name", "must be set to register, or cloud.nacos.discovery.service; cloud.nacos.discovery.register-enabled: false only looks services up")
	}
	reportKeyed(c, s.autoOptions().Validate())
	reportKeyed(c, s.address().Validate())
}

// report adds each line of an error as a problem with the key.
func report(c *config.Config, key string, err error) {
	for line := range lines(err) {
		c.Problem(key, line)
	}
}

// reportKeyed adds the lines of an error that name a key and a value before the
// colon, as those of the parts do.
func reportKeyed(c *config.Config, err error) {
	for line := range lines(err) {
		key, _, _ := strings.Cut(line, " ")
		reason := line[strings.LastIndex(line, ": ")+1:]
		c.Problem(key, strings.TrimSpace(reason))
	}
}

func lines(err error) iter.Seq[string] {
	if err == nil {
		return func(func(string) bool) {}
	}
	return strings.SplitSeq(err.Error(), "\n")
}

// problemsOf puts a key before each line of an error.
func problemsOf(key string, err error) error {
	var errs []error
	for line := range lines(err) {
		errs = append(errs, fmt.Errorf("%s: %s", key, line))
	}
	return errors.Join(errs...)
}
