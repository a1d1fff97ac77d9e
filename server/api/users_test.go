package api

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAuth_Users(t *testing.T) {
	f := closed(t)
	f.form = true
	f.as("admin")
	const users, page = "/v1/auth/users", "pageNo"
	f.want(`200 {"code":200,"message":"create user ok!","data":null}`, "POST "+users, "username", "ann", "password", password)
	f.want("400 caused: user 'ann' already exist!;", "POST "+users, "username", "ann", "password", password)
	f.want("400 caused: a password has at least 8 characters;", "POST "+users, "username", "bob", "password", "short")
	f.wantStatus(400, "POST "+users, "username", "<b>", "password", password)
	f.wantStatus(400, "POST "+users, "username", "bob")
	f.want(`200 {"totalCount":2,"pageNumber":1,"pagesAvailable":2,"pageItems":[{"username":"admin","password":""}]}`,
		"GET "+users, page, "1", "pageSize", "1")
	f.want(`200 {"totalCount":2,"pageNumber":3,"pagesAvailable":2,"pageItems":[]}`, "GET "+users, page, "3", "pageSize", "1")
	f.want(`200 ["ann"]`, "GET "+users+"/search", "username", "nn")
	f.want(`200 []`, "GET "+users+"/search", "username", "x")

	admin := f.token
	f.token = f.login("ann")
	f.wantStatus(403, "GET "+users, page, "1", "pageSize", "1")
	require.Contains(t, f.wantStatus(403, "PUT "+users, "username", "admin", "newPassword", "another password"), "authorization failed!")
	f.want(`200 {"code":200,"message":"update user ok!","data":null}`, "PUT "+users, "username", "ann", "newPassword", "another password")
	require.Contains(t, f.wantStatus(403, "PUT "+users, "username", "ann", "newPassword", "another password"), "token invalid!", "a new password ends the sessions")
	f.token = ""
	f.want("403 unknown user!", "POST "+users+"/login", "username", "ann", "password", password)
	f.wantStatus(200, "POST "+users+"/login", "username", "ann", "password", "another password")
	f.token = admin
	f.want(`200 {"code":200,"message":"update user ok!","data":null}`, "PUT "+users, "username", "ann", "newPassword", "one more password")
	f.want("400 caused: user 'who' not exist!;", "PUT "+users, "username", "who", "newPassword", "one more password")

	const roles = "/v1/auth/roles"
	f.want("400 caused: role 'ROLE_ADMIN' is not permitted to create!;", "POST "+roles, "role", "ROLE_ADMIN", "username", "ann")
	f.want("400 caused: user 'who' not found!;", "POST "+roles, "role", "r", "username", "who")
	f.want("400 caused: Param 'role' has control characters;", "POST "+roles, "role", "a\r\nb", "username", "ann")
	f.want(`200 {"code":200,"message":"add role ok!","data":null}`, "POST "+roles, "role", "reads", "username", "ann")
	f.want(`200 {"totalCount":1,"pageNumber":1,"pagesAvailable":1,"pageItems":[{"role":"reads","username":"ann"}]}`,
		"GET "+roles, page, "1", "pageSize", "9", "username", "ann")
	f.want(`200 ["ROLE_ADMIN","reads"]`, "GET "+roles+"/search", "role", "")
	f.want("400 caused: the last administrator stays one;", "DELETE "+roles, "role", "ROLE_ADMIN", "username", "admin")
	f.want("400 caused: the last administrator stays one;", "DELETE "+roles, "role", "ROLE_ADMIN")

	const permissions = "/v1/auth/permissions"
	p := []string{"role", "reads", "resource", ":*:*", "action", "r"}
	f.want("400 caused: role none not found!;", "POST "+permissions, "role", "none", "resource", ":*:*", "action", "r")
	f.wantStatus(400, "POST "+permissions, "role", "reads", "resource", ":*:*", "action", "x")
	f.want(`200 {"code":200,"message":"add permission ok!","data":null}`, "POST "+permissions, p...)
	f.want(`200 {"totalCount":1,"pageNumber":1,"pagesAvailable":1,"pageItems":[{"role":"reads","resource":":*:*","action":"r"}]}`,
		"GET "+permissions, page, "1", "pageSize", "9", "role", "reads")
	f.token = ""
	ann := []string{"username", "ann", "password", "one more password"}
	f.wantStatus(200, "GET instance/list", append(ann, "serviceName", "s")...)
	f.token = admin
	f.want(`200 {"code":200,"message":"delete permission ok!","data":null}`, "DELETE "+permissions, p...)
	f.token = ""
	f.wantStatus(403, "GET instance/list", append(ann, "serviceName", "s")...)
	f.token = admin
	f.want(`200 {"code":200,"message":"delete role of user ann ok!","data":null}`, "DELETE "+roles, "role", "reads", "username", "ann")
	f.want(`200 {"code":200,"message":"delete role ok!","data":null}`, "DELETE "+roles, "role", "reads")

	f.want("400 caused: cannot delete admin: admin;", "DELETE "+users, "username", "admin")
	f.want(`200 {"code":200,"message":"delete user ok!","data":null}`, "DELETE "+users, "username", "ann")
	f.token = ""
	f.wantStatus(403, "GET instance/list", append(ann, "serviceName", "s")...)
}

func TestAuth_UsersAreNotManagedWhileItIsOff(t *testing.T) {
	f := newFixture(t)
	for _, r := range Routes() {
		if strings.HasPrefix(r.Path, "/v1/auth/") && !strings.HasSuffix(r.Path, "login") {
			w := f.send(r.Method+" "+r.Path, "username", "u", "password", password, "newPassword", password, "role", "r",
				"resource", "*", "action", "rw", "pageNo", "1", "pageSize", "9")
			require.Equal(t, 403, w.Code, r.Path)
			require.Contains(t, w.Body.String(), "authentication is off")
		}
	}
	require.Zero(t, f.state.View().Applied())
}
