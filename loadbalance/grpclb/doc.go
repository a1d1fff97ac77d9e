// Package grpclb lets gRPC clients call services by name:
//
//	conn, err := grpclb.NewClient(balancer, "user-service",
//		grpc.WithTransportCredentials(insecure.NewCredentials()))
//
// A target lb:///user-service, or lb:///GROUP@@user-service for another group
// than the balancer's own, is resolved to the instances that discovery holds, and
// every change of the list is followed. Each call then goes to the instance that
// the [loadbalance.LoadBalancer] chooses, by the same properties as calls over
// HTTP: stages, policy, ejections, statistics. An instance that cannot be reached
// from here is passed over while there are others.
//
// Another attempt at a call, gRPC's own by a retryPolicy or that of an interceptor,
// goes to an instance that the call has not tried yet while there is one, unless
// retry.avoid-previous-instance is off. What is tried again, how often and after
// which pause is up to them; the keys of retry otherwise count for HTTP alone.
//
// An instance's port for gRPC is its metadata [MetadataPort] where that is given,
// as that of a service which serves HTTP beside it, and else its own.
//
// Credentials, interceptors and stats handlers are the caller's. Tracing is
// one option of go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc:
//
//	grpclb.NewClient(balancer, "user-service",
//		grpc.WithStatsHandler(otelgrpc.NewClientHandler()), …)
//
// and, around a [loadbalance.Transport], the same is otelhttp.NewTransport(transport).
//
// Here belongs what gRPC needs to call by name. Here does not belong the choice
// itself (package loadbalance).
package grpclb
