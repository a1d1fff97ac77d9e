package grpclb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rollcall-go/rollcall/loadbalance"
)

// outcomeOf tells how a call ended in the terms of HTTP: what the server answered
// is a response, whatever its code; everything else is an error. Of a call that
// came to its deadline or was given up the server may say so first, as it knows
// the deadline, too; that is no answer, unless a stream had begun.
func outcomeOf(info balancer.DoneInfo, stream bool) loadbalance.Outcome {
	code := status.Code(info.Err)
	switch {
	case info.Err == nil || errors.Is(info.Err, io.EOF):
		if !info.BytesSent && !info.BytesReceived {
			return loadbalance.Outcome{Err: loadbalance.ErrNotUsed}
		}
		return loadbalance.Outcome{StatusCode: http.StatusOK}
	case info.BytesReceived && (stream || code != codes.DeadlineExceeded && code != codes.Canceled):
		return loadbalance.Outcome{StatusCode: httpStatus(code)}
	case code == codes.DeadlineExceeded:
		return loadbalance.Outcome{Err: fmt.Errorf("%w: %w", context.DeadlineExceeded, info.Err), CallerLeft: true}
	case code == codes.Canceled:
		return loadbalance.Outcome{Err: fmt.Errorf("%w: %w", context.Canceled, info.Err), CallerLeft: true}
	}
	return loadbalance.Outcome{Err: info.Err}
}

// httpStatus returns the HTTP status that means the same as a code, by the
// comments of google/rpc/code.proto.
func httpStatus(c codes.Code) int {
	switch c {
	case codes.OK:
		return http.StatusOK
	case codes.Canceled:
		return 499
	case codes.InvalidArgument, codes.FailedPrecondition, codes.OutOfRange:
		return http.StatusBadRequest
	case codes.DeadlineExceeded:
		return http.StatusGatewayTimeout
	case codes.NotFound:
		return http.StatusNotFound
	case codes.AlreadyExists, codes.Aborted:
		return http.StatusConflict
	case codes.PermissionDenied:
		return http.StatusForbidden
	case codes.Unauthenticated:
		return http.StatusUnauthorized
	case codes.ResourceExhausted:
		return http.StatusTooManyRequests
	case codes.Unimplemented:
		return http.StatusNotImplemented
	case codes.Unavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}
