package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/internal/wholefile"
	"github.com/rollcall-go/rollcall/server/auth"
	"github.com/rollcall-go/rollcall/server/consensus"
	"github.com/rollcall-go/rollcall/server/projection"
	"github.com/rollcall-go/rollcall/server/state"
)

// Secrets in the state.
const (
	secretTokenKey     = "auth.token-key"
	secretInstallation = "installation"
)

const (
	// firstUser is the administrator that is made when authentication is on and
	// there is no user at all. Nacos' clients and documents know the name.
	firstUser = "nacos"
	// passwordFile holds that user's password, in the data directory.
	passwordFile = "initial-password"
)

// accounts knows who callers are. It can once the data is loaded, as the users
// and the key for tokens are in there.
type accounts struct {
	p           AuthProperties
	persistence *persistence
	logger      *slog.Logger
	registerer  prometheus.Registerer

	authenticator atomic.Pointer[auth.Authenticator] // nil until then
	temporary     string                             // a password file outside the data directory
}

// newAccounts takes the persistence as a parameter, so that its hook comes after.
func newAccounts(
	lc fx.Lifecycle, p Properties, x *persistence, logger *slog.Logger, registerer prometheus.Registerer,
) *accounts {
	a := &accounts{p: p.Core.Auth, persistence: x, logger: logger, registerer: registerer}
	lc.Append(fx.Hook{OnStart: a.start, OnStop: a.stop})
	return a
}

func (a *accounts) start(ctx context.Context) error {
	key, err := a.key(ctx)
	if err != nil {
		return err
	}
	installation, err := a.installation(ctx)
	if err != nil {
		return err
	}
	if a.p.Enabled {
		if err := a.ensureUser(ctx); err != nil {
			return fmt.Errorf("make the first user: %w", err)
		}
	}
	authenticator, err := auth.New(auth.Options{
		Users: projection.Users{State: a.persistence.state}, Key: key, Installation: installation,
		TokenTTL: a.p.ttl(), Logger: a.logger, Registerer: a.registerer,
	})
	if err != nil {
		return err
	}
	a.authenticator.Store(authenticator)
	return nil
}

func (a *accounts) stop(context.Context) error {
	if a.temporary == "" {
		return nil
	}
	// Who logged in and changed the password was told to delete the file.
	if err := os.Remove(a.temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// key is the key that tokens are signed with: the configured one, else the one
// in the data, which is made the first time authentication is on. While it is
// off and none was made, one that ends with the process does.
func (a *accounts) key(ctx context.Context) (auth.Key, error) {
	if text := a.p.Default.Token.Secret.Key; text != "" {
		return auth.ParseKey(text)
	}
	if !a.p.Enabled {
		if stored, found := a.persistence.state.View().Secret(secretTokenKey); found {
			return auth.ParseKey(string(stored))
		}
		return auth.NewKey(), nil
	}
	stored, err := a.secret(ctx, secretTokenKey, func() string { return auth.NewKey().Encode() })
	if err != nil {
		return auth.Key{}, err
	}
	return auth.ParseKey(stored)
}

// installation tells the tokens of this deployment from those of all others.
func (a *accounts) installation(ctx context.Context) (string, error) {
	if !a.p.Enabled {
		return uuid.NewString(), nil
	}
	return a.secret(ctx, secretInstallation, uuid.NewString)
}

// secret returns a secret of the state, which is made if there is none.
func (a *accounts) secret(ctx context.Context, name string, make func() string) (string, error) {
	if stored, found := a.persistence.state.View().Secret(name); found {
		return string(stored), nil
	}
	_, err := state.Propose(ctx, a.persistence, &state.PutSecret{Secret: state.Secret{Name: name, Value: []byte(make())}})
	if err != nil && !errors.Is(err, state.ErrSecretExists) { // another node may have been faster
		return "", fmt.Errorf("store the secret %s: %w", name, err)
	}
	stored, found := a.persistence.state.View().Secret(name)
	if !found {
		return "", fmt.Errorf("the secret %s was stored and is not there", name)
	}
	return string(stored), nil
}

// ensureUser makes the first administrator, with a password that nobody knows
// but who can read the file it is written to.
func (a *accounts) ensureUser(ctx context.Context) error {
	view := a.persistence.state.View()
	for r := range view.AllRoles() {
		if r.Role == auth.AdminRole {
			return nil
		}
	}
	for range view.Users() {
		a.logger.Warn("authentication is on and no user is an administrator; make one with: rollcall user create --admin")
		return nil
	}
	password := auth.GeneratePassword()
	hash, err := auth.HashPassword(password)
	if err != nil {
		return err
	}
	path, err := a.writePassword(password)
	if err != nil {
		return err
	}
	for _, c := range []state.Command{
		&state.CreateUser{User: state.User{Name: firstUser, PasswordHash: hash}},
		&state.AddRole{Role: state.Role{User: firstUser, Role: auth.AdminRole}},
	} {
		if _, err := state.Propose(ctx, a.persistence, c); err != nil {
			return err
		}
	}
	a.logger.Warn("there was no user, so an administrator was made; log in, change the password and delete the file",
		"user", firstUser, "password-file", path)
	return nil
}

// writePassword writes a file that only the owner can read, whole or not at all.
func (a *accounts) writePassword(password string) (path string, err error) {
	dir := a.persistence.dir()
	f, err := os.CreateTemp(dir, passwordFile+"-*") // mode 0600
	if err != nil {
		return "", err
	}
	path = f.Name()
	if dir != "" {
		path = filepath.Join(dir, passwordFile)
	}
	_, err = f.WriteString(password + "\n")
	if err := wholefile.Place(f, path, err); err != nil {
		return "", err
	}
	if dir == "" {
		a.temporary = path
		return path, nil
	}
	return path, wholefile.SyncDirectory(dir)
}

// errNotLoaded answers callers before the data is loaded.
var errNotLoaded = fmt.Errorf("%w: the users are being loaded", consensus.ErrUnavailable)

// Login implements [api.Authenticator].
func (a *accounts) Login(ctx context.Context, c auth.Credentials) (auth.Session, error) {
	if x := a.authenticator.Load(); x != nil {
		return x.Login(ctx, c)
	}
	return auth.Session{}, errNotLoaded
}

// Authenticate implements [api.Authenticator].
func (a *accounts) Authenticate(ctx context.Context, c auth.Credentials) (auth.Principal, error) {
	if x := a.authenticator.Load(); x != nil {
		return x.Authenticate(ctx, c)
	}
	return auth.Principal{}, errNotLoaded
}

// Authorize implements [api.Authenticator].
func (a *accounts) Authorize(p auth.Principal, r auth.Resource, action auth.Action) error {
	if x := a.authenticator.Load(); x != nil {
		return x.Authorize(p, r, action)
	}
	return errNotLoaded
}

// IsAdmin implements [api.Authenticator].
func (a *accounts) IsAdmin(p auth.Principal) bool {
	x := a.authenticator.Load()
	return x != nil && x.IsAdmin(p)
}
