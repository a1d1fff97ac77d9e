package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"runtime"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/crypto/bcrypt"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// DefaultTokenTTL is how long a token is valid unless configured otherwise
// (Nacos: 18000 seconds).
const DefaultTokenTTL = 5 * time.Hour

// passwordWait is how long a password waits for its turn to be checked.
const passwordWait = 5 * time.Second

// maxLookup bounds the names that are looked up. Users that come from elsewhere
// need not follow the rules of new ones.
const maxLookup = 256

// Options says what an [Authenticator] needs. Users, Key and Installation are
// required.
type Options struct {
	// Users are asked on each call.
	Users Users
	// Key signs tokens; see [NewKey] and [ParseKey].
	Key Key
	// Installation tells this deployment from all others, even one that was given
	// the same key. All nodes of a cluster have the same.
	Installation string
	// TokenTTL is how long a token is valid. The default is [DefaultTokenTTL].
	TokenTTL time.Duration
	// Logger gets a line for each wrong password that was looked at, which the
	// limit on guessing bounds; nil discards it.
	Logger *slog.Logger
	// Registerer gets the metrics; nil registers none.
	Registerer prometheus.Registerer
}

// Authenticator tells who callers are and what they may do. All its methods may
// be called concurrently; it has no goroutines and needs no closing.
type Authenticator struct {
	users    Users
	tokens   *tokens
	verified *verified
	limit    *guessLimit
	log      *slog.Logger
	metrics  *metrics

	// turn has room for as many passwords as are checked at the same time: half of
	// the processors, so that guessing leaves the other half to the roll call.
	turn chan struct{}
	// compare is comparePassword; tests count what it costs.
	compare func(hash, password string) error
}

// New returns an authenticator.
func New(o Options) (*Authenticator, error) {
	switch {
	case o.Users == nil:
		return nil, errors.New("auth: Users is required")
	case len(o.Key.bytes) < minKeySize:
		return nil, errors.New("auth: Key is required")
	case o.Installation == "":
		return nil, errors.New("auth: Installation is required")
	case o.TokenTTL < 0 || o.TokenTTL > 0 && o.TokenTTL < time.Second:
		return nil, fmt.Errorf("auth: TokenTTL is %s, the least is 1s", o.TokenTTL)
	}
	if o.TokenTTL == 0 {
		o.TokenTTL = DefaultTokenTTL
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	m, err := newMetrics(o.Registerer)
	if err != nil {
		return nil, err
	}
	return &Authenticator{
		users:    o.Users,
		tokens:   newTokens(o.Key, o.Installation, o.TokenTTL),
		verified: newVerified(),
		limit:    newGuessLimit(),
		log:      o.Logger,
		metrics:  m,
		turn:     make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)),
		compare:  comparePassword,
	}, nil
}

// Session is the answer to a login.
type Session struct {
	// User is the name that was logged in.
	User string
	// Token is what further calls carry.
	Token string
	// TTL is how long the token is valid from now on.
	TTL time.Duration
	// GlobalAdmin says whether the user has [AdminRole].
	GlobalAdmin bool
}

// Login checks a name and password and returns a new token. A request that
// carries a token is judged by that instead, and gets it back with the time it
// has left: a token does not renew itself. The error is a [Refusal], a
// [*TooManyError] or that of ctx, which bounds the wait for a processor.
func (a *Authenticator) Login(ctx context.Context, c Credentials) (Session, error) {
	s, err := a.login(ctx, c)
	a.metrics.login(err)
	return s, err
}

func (a *Authenticator) login(ctx context.Context, c Credentials) (Session, error) {
	if token, ok := c.token(); ok {
		content, err := a.readToken(token)
		if err != nil {
			return Session{}, err
		}
		return Session{
			User: content.Subject, Token: token,
			TTL: time.Until(content.ExpiresAt.Time), GlobalAdmin: a.isAdmin(content.Subject),
		}, nil
	}
	hash, err := a.checkPassword(ctx, c.Username, c.Password, c.Client)
	if err != nil {
		return Session{}, err
	}
	token, err := a.tokens.sign(c.Username, hash)
	if err != nil {
		return Session{}, err
	}
	return Session{User: c.Username, Token: token, TTL: a.tokens.ttl, GlobalAdmin: a.isAdmin(c.Username)}, nil
}

// Authenticate returns who sent a request: by its token if there is one, else by
// its name and password. The errors are those of [Authenticator.Login].
func (a *Authenticator) Authenticate(ctx context.Context, c Credentials) (Principal, error) {
	if token, ok := c.token(); ok {
		content, err := a.readToken(token)
		if err != nil {
			return Principal{}, a.metrics.refuse(err)
		}
		return Principal{Name: content.Subject}, nil
	}
	if _, err := a.checkPassword(ctx, c.Username, c.Password, c.Client); err != nil {
		return Principal{}, a.metrics.refuse(err)
	}
	return Principal{Name: c.Username}, nil
}

// Authorize says whether a user may do something to a resource, by nil or a
// [Refusal]. What no permission of the user's roles allows is refused;
// [AdminRole] may do everything that has a resource at all.
func (a *Authenticator) Authorize(p Principal, r Resource, action Action) error {
	return a.metrics.refuse(a.authorize(p, r, action))
}

func (a *Authenticator) authorize(p Principal, r Resource, action Action) error {
	if r.text == "" {
		return ErrResourceInvalid
	}
	if p.Name == "" {
		return ErrNotAuthorized
	}
	roles := a.users.Roles(p.Name)
	if slices.Contains(roles, AdminRole) {
		return nil
	}
	if r.adminOnly {
		return ErrNotAuthorized
	}
	for _, role := range roles {
		for _, permission := range a.users.Permissions(role) {
			if permission.allows(r, action) {
				return nil
			}
		}
	}
	return ErrNotAuthorized
}

// IsAdmin says whether a user has [AdminRole].
func (a *Authenticator) IsAdmin(p Principal) bool { return p.Name != "" && a.isAdmin(p.Name) }

func (a *Authenticator) isAdmin(user string) bool {
	return slices.Contains(a.users.Roles(user), AdminRole)
}

// readToken returns the content of a token whose user is still there and has the
// same password.
func (a *Authenticator) readToken(token string) (*claims, error) {
	if token == "" {
		return nil, ErrUserNotFound
	}
	content, err := a.tokens.read(token)
	if err != nil {
		return nil, err
	}
	hash, ok := a.users.PasswordHash(content.Subject)
	if !ok || !a.tokens.fits(content, hash) {
		return nil, ErrTokenInvalid
	}
	return content, nil
}

// checkPassword returns the user's password hash if the password is right. It
// does the same work whether the user exists or not; a wrong one that is repeated
// costs nothing in either case.
func (a *Authenticator) checkPassword(ctx context.Context, name, password string, from netip.Addr) (string, error) {
	if name == "" || len(name) > maxLookup {
		return "", ErrUnknownUser
	}
	hash, known := a.users.PasswordHash(name)
	if !known {
		hash = dummyHash
	}
	seen := a.verified.fingerprint(name, password, hash)
	if known && a.verified.has(seen) {
		return hash, nil
	}
	if a.verified.refuted(seen) {
		return "", ErrUnknownUser
	}
	if err := a.takeTurn(ctx); err != nil {
		return "", err
	}
	defer func() { <-a.turn }()
	// Others may have checked the same, or guessed wrong, while this one waited.
	if known && a.verified.has(seen) {
		return hash, nil
	}
	if a.verified.refuted(seen) {
		return "", ErrUnknownUser
	}
	if wait := a.limit.wait(name, from); wait > 0 {
		return "", &TooManyError{RetryAfter: wait}
	}
	a.metrics.checked.Inc()
	err := a.compare(hash, password)
	if err != nil || !known || !hashable(password) {
		a.verified.refute(seen)
		a.limit.wrong(name, from)
		a.logWrong(ctx, name, from, err)
		return "", ErrUnknownUser
	}
	a.verified.add(seen)
	a.limit.right(name, from)
	return hash, nil
}

func (a *Authenticator) logWrong(ctx context.Context, name string, from netip.Addr, err error) {
	attrs := []slog.Attr{slog.String("user", wire.Excerpt(name)), slog.String("client", from.String())}
	if err != nil && !errors.Is(err, bcrypt.ErrMismatchedHashAndPassword) {
		attrs = append(attrs, slog.Any("error", err)) // the hash is at fault, not the password
	}
	a.log.LogAttrs(ctx, slog.LevelWarn, "wrong user name or password", attrs...)
}

// takeTurn waits until a processor may be spent on a password.
func (a *Authenticator) takeTurn(ctx context.Context) error {
	select {
	case a.turn <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(passwordWait)
	defer timer.Stop()
	select {
	case a.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait to check a password: %w", context.Cause(ctx))
	case <-timer.C:
		return &TooManyError{RetryAfter: passwordWait}
	}
}
