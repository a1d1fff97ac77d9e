package autoconfig

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
)

func TestLive_FollowsAReload(t *testing.T) {
	var mail mailProperties
	var live *Live[mailProperties]
	r := reloadWith(t, "app.mail: {host: one, retries: 1}\n", Properties("app.mail", mailProperties{Pause: time.Second}), fx.Populate(&mail, &live))
	require.Equal(t, mail, live.Load())
	var told []string
	cancel := live.OnChange(func(before, now mailProperties) {
		require.Equal(t, now, live.Load(), "it is in effect when it is told")
		told = append(told, fmt.Sprint(before.Host, before.Retries, " ", now.Host, now.Retries))
	})

	require.NoError(t, r.reload("app.mail: {host: two, retries: 2}\n"))
	require.Equal(t, mailProperties{Host: "two", Retries: 2, Pause: time.Second}, live.Load())
	require.Equal(t, "one", mail.Host, "the value of the start stays")
	require.Contains(t, r.log.String(), `applied="app.mail.host, app.mail.retries"`)
	require.Empty(t, waiting(r))

	require.Error(t, r.reload("app.mail: {host: three, retries: 11}\n"), "its own Validate refuses that")
	require.Error(t, r.reload("app.mail: {host: three, retries: 3}\ncloud.nacos.discovery.weight: many\n"), "another mistake keeps all of it back")
	require.NoError(t, r.reload("app.mail: {host: two, retries: 2}\ncloud.nacos.discovery.weight: 2\n"), "it is as it was")
	require.Equal(t, "two", live.Load().Host)

	cancel()
	require.NoError(t, r.reload("app.mail: {host: four, retries: 4}\n"))
	require.Equal(t, "four", live.Load().Host)
	require.Equal(t, []string{"one1 two2"}, told)
}

func TestLive_AListenerThatPanics(t *testing.T) {
	var live *Live[mailProperties]
	r := reloadWith(t, "", Properties("app.mail", mailProperties{Host: "localhost"}), fx.Populate(&live))
	told := false
	live.OnChange(func(_, _ mailProperties) { panic("boom") })
	live.OnChange(func(_, _ mailProperties) { told = true })
	require.ErrorContains(t, r.reload("app.mail.host: two\n"), "listener of app.mail panicked: boom")
	require.True(t, told)
	require.Equal(t, "two", live.Load().Host)
	require.Contains(t, r.log.String(), "applied=app.mail.host")
}

// A block that the framework reads as well is followed, but what the framework does
// with its keys is its own business.
func TestLive_OfKeysOfTheFramework(t *testing.T) {
	type timeouts struct{ ShutdownTimeout time.Duration }
	var live *Live[timeouts]
	r := reloadWith(t, "", Properties("server", timeouts{ShutdownTimeout: 20 * time.Second}), fx.Populate(&live))
	require.NoError(t, r.reload("server.shutdown-timeout: 5s\n"))
	require.Equal(t, 5*time.Second, live.Load().ShutdownTimeout)
	require.Equal(t, 1, r.log.count(`restart to apply it" key=server.shutdown-timeout`))
}
