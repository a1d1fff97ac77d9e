package api

import (
	"errors"
	"net/http"

	"github.com/rollcall-go/rollcall/server/auth"
)

// login gives a token for a name and a password, also while authentication is
// off: clients that are set up for it ask in any case. A wrong one is 403 with
// the bare text that clients look for (Nacos HTTP v1: auth).
func (a *API) login(c *call) (answer, error) {
	session, err := a.auth.Login(c.request.Context(), c.credentials())
	var refusal auth.Refusal
	if errors.As(err, &refusal) {
		reply := text(refusal.Error())
		reply.status = http.StatusForbidden
		return reply, nil
	}
	if err != nil {
		return answer{}, err
	}
	reply, err := jsonOf(struct {
		AccessToken string `json:"accessToken"`
		TokenTTL    int64  `json:"tokenTtl"`
		GlobalAdmin bool   `json:"globalAdmin"`
		Username    string `json:"username"`
	}{session.Token, int64(session.TTL.Seconds()), session.GlobalAdmin, session.User})
	reply.authorization = "Bearer " + session.Token
	return reply, err
}
