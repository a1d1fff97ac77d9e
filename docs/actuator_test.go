package docs_test

import (
	"context"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/autoconfig"
)

// TestGuide_EveryEndpointAnswers asks an application for everything that the
// guide's table of endpoints says can be asked for.
func TestGuide_EveryEndpointAnswers(t *testing.T) {
	t.Parallel()
	app, err := autoconfig.New(autoconfig.ConfigYAML(`
application: { name: shown }
server: { address: 127.0.0.1, port: 0 }
logging: { level: error }
management: { endpoints: { exposure: "*" } }
cloud: { nacos: { discovery: { ip: 127.0.0.1 } } }
`), autoconfig.Property("cloud.nacos.server-addr", startRegistry(t)))
	require.NoError(t, err)
	require.NoError(t, app.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, app.Stop(context.Background())) })

	rows := regexp.MustCompile("(?m)^\\| `(GET|POST) (/actuator\\S*)` \\| (.*) \\|$").
		FindAllStringSubmatch(readPage(t, "docs/guide/health-and-metrics.md"), -1)
	require.Greater(t, len(rows), 10)
	for _, row := range rows {
		body := ""
		if shown := regexp.MustCompile("`(\\{.*\\})`").FindStringSubmatch(row[3]); shown != nil {
			body = shown[1]
		}
		url := "http://" + app.Addr().String() + strings.Replace(row[2], "{name}", "discovery", 1)
		req, err := http.NewRequestWithContext(t.Context(), row[1], url, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, 2, resp.StatusCode/100, "%s %s %s", row[1], url, body)
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestGuide_EveryMetricIsThere finds each metric of the guide's table in the
// source, and each one of the source in the table.
func TestGuide_EveryMetricIsThere(t *testing.T) {
	t.Parallel()
	page := readPage(t, "docs/guide/health-and-metrics.md")
	listed, made := map[string]bool{}, map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z]+_[a-z_]+)` \\|").FindAllStringSubmatch(page, -1) {
		listed[m[1]] = true
	}
	name := regexp.MustCompile(`"((?:rollcall|loadbalancer|http_server)_[a-z_]+)"`)
	for _, folder := range []string{"autoconfig", "discovery", "loadbalance", "registry", "internal/nacosclient"} {
		err := filepath.WalkDir(filepath.Join("..", folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			for _, m := range name.FindAllSubmatch(source, -1) {
				made[string(m[1])] = true
			}
			return err
		})
		require.NoError(t, err)
	}
	require.Equal(t, made, listed)
}
