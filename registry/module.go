package registry

import "go.uber.org/fx"

// Module provides *[AutoServiceRegistration] from a [ServiceRegistry], a
// [Registration], [AutoOptions] and the value groups "registration.lifecycle"
// and "registration.customizer". Whoever includes it calls Start and Stop as
// the last lifecycle hook of the application (rule A-R14).
var Module = fx.Module("registry", fx.Provide(NewAutoServiceRegistration))
