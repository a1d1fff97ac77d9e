package auth

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Outcomes of a login and reasons of a refusal, as the metrics name them.
const (
	outcomeSuccess = "success"
	outcomeRefused = "refused"
	outcomeLimited = "limited"
)

type metrics struct {
	logins  *prometheus.CounterVec
	refused *prometheus.CounterVec
	checked prometheus.Counter
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		logins: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rollcall_auth_logins_total",
			Help: "Logins by outcome: success, refused (wrong name, password or token), limited (not looked at, as too many were wrong).",
		}, []string{"outcome"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rollcall_auth_refused_total",
			Help: "Calls that were refused, by reason: credentials, token, expired, permission, resource, limited.",
		}, []string{"reason"}),
		checked: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "rollcall_auth_passwords_checked_total",
			Help: "Passwords that cost a bcrypt, for logins and for calls that carry a password.",
		}),
	}
	for _, outcome := range [...]string{outcomeSuccess, outcomeRefused, outcomeLimited} {
		m.logins.WithLabelValues(outcome)
	}
	for _, reason := range [...]string{"credentials", "token", "expired", "permission", "resource", outcomeLimited} {
		m.refused.WithLabelValues(reason)
	}
	if r == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.logins, m.refused, m.checked} {
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("register the auth metrics: %w", err)
		}
	}
	return m, nil
}

// login counts a login by its result.
func (m *metrics) login(err error) {
	outcome := outcomeSuccess
	if err != nil {
		outcome = outcomeRefused
		if _, limited := errors.AsType[*TooManyError](err); limited {
			outcome = outcomeLimited
		}
	}
	m.logins.WithLabelValues(outcome).Inc()
}

// refuse counts a call that is refused, and returns its error.
func (m *metrics) refuse(err error) error {
	var reason string
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrUnknownUser):
		reason = "credentials"
	case errors.Is(err, ErrTokenInvalid), errors.Is(err, ErrUserNotFound):
		reason = "token"
	case errors.Is(err, ErrTokenExpired):
		reason = "expired"
	case errors.Is(err, ErrNotAuthorized):
		reason = "permission"
	case errors.Is(err, ErrResourceInvalid):
		reason = "resource"
	default:
		if _, limited := errors.AsType[*TooManyError](err); !limited {
			return err
		}
		reason = outcomeLimited
	}
	m.refused.WithLabelValues(reason).Inc()
	return err
}
