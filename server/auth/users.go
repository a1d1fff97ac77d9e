package auth

// AdminRole is the role that may do everything.
const AdminRole = "ROLE_ADMIN"

// Users is what this package needs to know of the users of an installation. It
// is asked on each call and answers from memory, so that a change holds at once;
// its methods may be called concurrently.
type Users interface {
	// PasswordHash returns the bcrypt hash of a user's password; ok is false when
	// there is no such user.
	PasswordHash(user string) (hash string, ok bool)
	// Roles returns the names of a user's roles.
	Roles(user string) []string
	// Permissions returns what a role may do.
	Permissions(role string) []Permission
}

// Permission is one row of the permission table.
type Permission struct {
	// Resource is a pattern in which '*' stands for any text: "dev:*:*",
	// ":DEFAULT_GROUP:naming/orders".
	Resource string
	// Action is "r", "w" or "rw".
	Action string
}

// Principal is a caller whose credentials were good.
type Principal struct {
	// Name is the user's name.
	Name string
}
