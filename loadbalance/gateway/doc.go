// Package gateway is a reverse proxy by service name: GET /order-service/orders/7
// becomes GET /orders/7 at an instance of order-service.
//
//	gate, err := gateway.New(gateway.Options{
//		Transport:  client.Transport, // a *loadbalance.HTTPClient's
//		Properties: gateway.Properties{Services: []string{"order-service"}},
//	})
//	engine.NoRoute(gate.Handle) // whatever the application itself does not serve
//
// Which services can be reached is said in [Properties]; nothing can by default.
// What the outside is told of a call that failed is short, the log says more.
//
// Here belongs the way of a request from outside to a call by name. Here does not
// belong the call (package loadbalance), nor who may make it: authentication,
// limits and the like are middlewares in front.
package gateway
