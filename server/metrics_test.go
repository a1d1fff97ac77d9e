package server

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/rollcall-go/rollcall/autoconfig"
)

// metric is what a running server has.
type metric struct{ help, labels string }

// measured walks the registry of a server that runs with everything that can be
// measured.
func measured(t *testing.T) map[string]metric {
	t.Helper()
	var registry *prometheus.Registry
	app, err := autoconfig.New(
		Module, autoconfig.ConfigYAML("{}"), autoconfig.Logger(slog.New(slog.DiscardHandler)),
		autoconfig.Property("server.port", 0), autoconfig.Property("server.address", "127.0.0.1"),
		autoconfig.Property("nacos.storage.dir", t.TempDir()), autoconfig.Property("server.lame-duck", "0s"),
		fx.Populate(&registry),
	)
	require.NoError(t, err)
	require.NoError(t, app.Start(t.Context()))
	defer func() { require.NoError(t, app.Stop(t.Context())) }()

	descriptions := make(chan *prometheus.Desc)
	go func() { defer close(descriptions); registry.Describe(descriptions) }()
	parts := regexp.MustCompile(`fqName: "([^"]+)", help: "((?:[^"\\]|\\.)*)", unit: "[^"]*", constLabels: \{(.*?)\}, variableLabels: \{(.*?)\}`)
	all := make(map[string]metric)
	for d := range descriptions {
		m := parts.FindStringSubmatch(d.String())
		require.NotNil(t, m, d.String())
		if strings.HasPrefix(m[1], "go_") || strings.HasPrefix(m[1], "process_") {
			continue // are those of every program
		}
		var labels []string
		for _, pair := range strings.Split(m[3], ",") {
			if name, _, ok := strings.Cut(pair, "="); ok {
				labels = append(labels, name)
			}
		}
		if m[4] != "" {
			labels = append(labels, strings.Split(m[4], ",")...)
		}
		slices.Sort(labels)
		all[m[1]] = metric{m[2], strings.Join(labels, ", ")}
	}
	require.NotEmpty(t, all)
	return all
}

// TestMetrics_AreAllDocumented compares docs/metrics.md with a running server.
func TestMetrics_AreAllDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/metrics.md")
	require.NoError(t, err)
	row := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (counter|gauge|histogram) \\| ([^|]*) \\| [^|]{15,} \\|$")
	documented := map[string]string{}
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		labels := strings.Split(strings.ReplaceAll(strings.TrimSpace(m[3]), "`", ""), ", ")
		slices.Sort(labels)
		require.NotContains(t, documented, m[1], "twice")
		documented[m[1]] = strings.Join(labels, ", ")
	}
	real := measured(t)
	for name, m := range real {
		require.Contains(t, documented, name, "metrics.md lacks %s: %s", name, m.help)
		require.Equal(t, cmp.Or(m.labels, "–"), documented[name], "labels of %s", name)
	}
	for name := range documented {
		require.Contains(t, slices.Collect(maps.Keys(real)), name, "metrics.md has what no server has")
	}
}

// TestDashboard_UsesMetricsThatExist reads docs/grafana.json as Grafana does.
func TestDashboard_UsesMetricsThatExist(t *testing.T) {
	text, err := os.ReadFile("../docs/grafana.json")
	require.NoError(t, err)
	var dashboard struct {
		Title  string `json:"title"`
		Panels []struct {
			ID      int    `json:"id"`
			Title   string `json:"title"`
			Type    string `json:"type"`
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	require.NoError(t, json.Unmarshal(text, &dashboard))
	require.NotEmpty(t, dashboard.Title)
	real := measured(t)
	name := regexp.MustCompile(`\b(?:rollcall|http_server|go|process)_[a-z_0-9]+`)
	used, ids := map[string]bool{}, map[int]bool{}
	for _, p := range dashboard.Panels {
		require.NotEmpty(t, p.Title)
		require.False(t, ids[p.ID], "two panels have the id %d", p.ID)
		ids[p.ID] = true
		if p.Type != "row" {
			require.NotEmpty(t, p.Targets, p.Title)
		}
		for _, target := range p.Targets {
			names := name.FindAllString(target.Expr, -1)
			require.NotEmpty(t, names, "%s: %s", p.Title, target.Expr)
			for _, n := range names {
				if strings.HasPrefix(n, "go_") || strings.HasPrefix(n, "process_") {
					continue
				}
				if _, exists := real[n]; !exists { // of a histogram
					n = regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(n, "")
				}
				require.Contains(t, real, n, "%s uses what no server has", p.Title)
				used[n] = true
			}
		}
	}
	require.Greater(t, len(used), 20, "a dashboard that shows what there is")
}
