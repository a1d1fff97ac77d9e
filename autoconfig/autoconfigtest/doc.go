// Package autoconfigtest starts applications in tests: with a registry in memory
// that the test fills and breaks, on free ports or in a network in memory, where
// time is that of testing/synctest. What was started ends with the test.
//
//	func TestOrder(t *testing.T) {
//		fleet := autoconfigtest.NewFleet()
//		fleet.Provide(t, "user-service", users)
//		app := fleet.Start(t, fx.Invoke(routes))
//		status, body := app.Get(t, "/orders/1")
//		...
//	}
//
// Here belongs what a test of an application needs around it. Here does not belong
// what stands in for the application's own parts: fx.Replace and fx.Decorate do
// that.
package autoconfigtest
