package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func requireBadRequest(t *testing.T, err error, text string) {
	t.Helper()
	var bad BadRequest
	require.ErrorAs(t, err, &bad)
	require.Contains(t, string(bad), text)
}

func mustParse(t *testing.T, query, body string) Params {
	t.Helper()
	p, err := ParseParams(query, []byte(body))
	require.NoError(t, err)
	return p
}
