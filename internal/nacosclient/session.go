package nacosclient

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

const (
	// loginPause is how long a failed login is not repeated, so that wrong
	// credentials do not hammer the server.
	loginPause = 5 * time.Second
	// firstTellPause is how long logins that go on failing are not told of again,
	// doubled each time up to longestTellPause.
	firstTellPause   = time.Minute
	longestTellPause = time.Hour
	// defaultTokenLife applies when the server does not state one.
	defaultTokenLife = 18000 * time.Second
	// maxTokenLife is what is believed: a life of decades, in seconds, is more than
	// a Duration can be multiplied with.
	maxTokenLife = 24 * time.Hour
)

// session is the token of the login and its life.
type session struct {
	username, password string
	// turn holds one token: whoever has it logs in, the others wait.
	turn chan struct{}

	mu      sync.Mutex
	token   string
	renewAt time.Time
	// quietUntil is when a failed login may be repeated.
	quietUntil time.Time
	err        error
	// failures counts the logins that failed since the last one that did not. They
	// are told of again at tellAt, and each time after a pause twice as long.
	failures  int
	tellAt    time.Time
	tellPause time.Duration
}

func newSession(username, password string) *session {
	return &session{username: username, password: password, turn: make(chan struct{}, 1)}
}

func (s *session) wanted() bool { return s.username != "" }

func (s *session) lastError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// current returns the token and whether it is younger than 90 % of its life.
func (s *session) current() (token string, fresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token, s.token != "" && time.Now().Before(s.renewAt)
}

func (s *session) quiet() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Before(s.quietUntil)
}

// accept takes a new token and returns how many logins failed before.
func (s *session) accept(token string, life time.Duration) (failures int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	failures = s.failures
	s.token, s.renewAt, s.quietUntil, s.err, s.failures = token, time.Now().Add(life*9/10), time.Time{}, nil, 0
	return failures
}

// refuse notes a failed login, and returns how many failed in a row and whether
// that is to be told now: when it is the first one, when it failed for another
// reason than the one before, and else ever more rarely.
func (s *session) refuse(err error) (failures int, tell bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	another := s.failures == 0 || !slices.Equal(statusesOf(err), statusesOf(s.err))
	s.failures++
	s.quietUntil, s.err = now.Add(loginPause), err
	switch {
	case another:
		s.tellPause = firstTellPause
	case now.Before(s.tellAt):
		return s.failures, false
	default:
		s.tellPause = min(2*s.tellPause, longestTellPause)
	}
	s.tellAt = now.Add(s.tellPause)
	return s.failures, true
}

// token returns the token to send, after a login where it is due. When the login
// fails the old token is sent, or none: a server without authentication answers
// all the same.
func (c *Client) token(ctx context.Context) string {
	if !c.session.wanted() {
		return ""
	}
	token, fresh := c.session.current()
	if fresh {
		return token
	}
	return c.login(ctx, token)
}

// login replaces the token stale and returns the one to use from now on, which
// is stale when the login failed. Of several callers one logs in.
func (c *Client) login(ctx context.Context, stale string) string {
	s := c.session
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return stale
	}
	if token, fresh := s.current(); fresh && token != stale {
		return token
	}
	if s.quiet() {
		return stale
	}
	var reply struct {
		AccessToken string `json:"accessToken"`
		TokenTTL    int64  `json:"tokenTtl"`
	}
	r := request{
		method: http.MethodPost,
		path:   "/v1/auth/users/login",
		query:  url.Values{"username": {s.username}},
		form:   url.Values{"password": {s.password}},
		limit:  smallAnswer,
		secret: true, unsigned: true,
		decode: func(body []byte) error {
			if err := json.Unmarshal(body, &reply); err != nil {
				return err
			}
			if reply.AccessToken == "" {
				return errors.New("the reply has no accessToken")
			}
			return nil
		},
	}
	err := c.visit(ctx, r, func(ctx context.Context, e endpoint) error { return c.send(ctx, e, r, "") })
	if err != nil {
		// A caller who gave up says nothing about the login.
		if !errors.Is(ctx.Err(), context.Canceled) {
			if failures, tell := s.refuse(err); tell {
				c.logger.Warn("login to the registry failed", slog.Int("failures", failures), slog.Any("error", err))
			}
		}
		return stale
	}
	if failures := s.accept(reply.AccessToken, tokenLife(reply.TokenTTL)); failures > 0 {
		c.logger.Info("login to the registry works again", slog.Int("failures", failures))
	}
	return reply.AccessToken
}

// tokenLife reads the seconds that a server states.
func tokenLife(seconds int64) time.Duration {
	if seconds <= 0 {
		return defaultTokenLife
	}
	return time.Duration(min(seconds, int64(maxTokenLife/time.Second))) * time.Second
}
