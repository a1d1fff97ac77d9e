package registry_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/registry"
)

func TestAutoOptionsValidate(t *testing.T) {
	require.NoError(t, registry.DefaultAutoOptions().Validate())
	tests := map[string]func(*registry.AutoOptions){
		"cloud.service-registry.auto-registration.register-when Ready":     func(o *registry.AutoOptions) { o.When = "Ready" },
		"cloud.service-registry.auto-registration.register-delay -1s":      func(o *registry.AutoOptions) { o.Delay = -time.Second },
		"cloud.service-registry.auto-registration.initial-status STARTING": func(o *registry.AutoOptions) { o.InitialStatus = "STARTING" },
		"cloud.service-registry.auto-registration.deregister-timeout 0s":   func(o *registry.AutoOptions) { o.DeregisterTimeout = 0 },
		"cloud.service-registry.auto-registration.drain -1s":               func(o *registry.AutoOptions) { o.Drain = -time.Second },
		"shutdown reserve -1s":                            func(o *registry.AutoOptions) { o.ShutdownReserve = -time.Second },
		"cloud.nacos.discovery.register-retry.initial 0s": func(o *registry.AutoOptions) { o.Retry.Initial = 0 },
		"cloud.nacos.discovery.register-retry.max 1ms":    func(o *registry.AutoOptions) { o.Retry.Max = time.Millisecond },
		"cloud.nacos.discovery.register-retry.jitter 1.5": func(o *registry.AutoOptions) { o.Retry.Jitter = 1.5 },
	}
	for want, change := range tests {
		t.Run(want, func(t *testing.T) {
			o := registry.DefaultAutoOptions()
			change(&o)
			require.ErrorContains(t, o.Validate(), want)
		})
	}
}

func TestNewReportsEverythingAtOnce(t *testing.T) {
	_, err := registry.NewAutoServiceRegistration(params(newFakeRegistry(), func(p *autoParams) {
		p.Options.When, p.Options.DeregisterTimeout, p.Registration.Port = "", 0, 70000
	}))
	require.ErrorContains(t, err, "register-when")
	require.ErrorContains(t, err, "deregister-timeout")
	require.ErrorContains(t, err, "cloud.nacos.discovery.port 70000")

	_, err = registry.NewAutoServiceRegistration(registry.AutoServiceRegistrationParams{})
	require.ErrorContains(t, err, "no service registry")
}
