package autoconfig

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type wanted struct {
	Colour string `mapstructure:"colour"`
	Token  struct {
		Secret struct {
			Key string `mapstructure:"key"`
		} `mapstructure:"secret"`
	} `mapstructure:"token"`
}

// Validate implements what blocks may have.
func (w *wanted) Validate() error {
	if w.Colour == "none" {
		return errors.New("colour: must be one")
	}
	if w.Token.Secret.Key == "bad" {
		return errors.New("token.secret.key: must be good")
	}
	return nil
}

func settingOf(t *testing.T, c *Configuration, key string) EffectiveSetting {
	t.Helper()
	for _, s := range c.Settings {
		if s.Key == key {
			return s
		}
	}
	t.Fatalf("no setting %s", key)
	return EffectiveSetting{}
}

func TestReadConfiguration(t *testing.T) {
	t.Setenv("SERVER_ADDRESS", "127.0.0.1")
	options := Options(
		Properties("mine", wanted{Colour: "red"}),
		Default("server.context-path", "/x"),
		Property("server.shutdown-timeout", "3s"),
		PropertyFrom("--lame-duck", "server.lame-duck", time.Second),
		ConfigYAML("cloud: {discovery: {enabled: false}}\nmine: {token: {secret: {key: deep}}, colors: 1}\nserver: {port: '${PORT:81}'}"),
	)
	c, err := ReadConfiguration(options)
	require.NoError(t, err)
	require.Equal(t, 81, c.Server().Port)
	mine, err := Block[wanted](c)
	require.NoError(t, err)
	require.Equal(t, "deep", mine.Token.Secret.Key)
	_, err = Block[int](c)
	require.Error(t, err)

	for _, want := range [][3]string{
		{"mine.colour", "red", OriginDefault},
		{"mine.token.secret.key", "******", "ConfigYAML:2"},
		{"server.port", "81", "ConfigYAML:3"},
		{"server.address", "127.0.0.1", "environment variable SERVER_ADDRESS"},
		{"server.context-path", "/x", "default of the application"},
		{"server.shutdown-timeout", "3s", "property"},
		{"server.lame-duck", "1s", "--lame-duck"},
		{"server.ssl.certificate", "", OriginDefault},
	} {
		got := settingOf(t, c, want[0])
		require.Equal(t, want, [3]string{got.Key, got.Value, got.Origin})
	}
	require.Len(t, c.Warnings, 1)
	require.Contains(t, c.Warnings[0], "unknown configuration key, it has no effect: key mine.colors, at ConfigYAML:2")
}

func TestReadConfiguration_Mistakes(t *testing.T) {
	c, err := ReadConfiguration(
		Properties("mine", wanted{}), ConfigYAML("cloud: {discovery: {enabled: false}}\nmine: {colour: none}\nserver: {port: x}"))
	var mistakes *ConfigError
	require.ErrorAs(t, err, &mistakes)
	require.Len(t, mistakes.Problems, 2)
	require.Equal(t, "none", settingOf(t, c, "mine.colour").Value, "it can be shown all the same")

	_, err = ReadConfiguration(
		Properties("mine", wanted{}), ConfigYAML("cloud: {discovery: {enabled: false}}\nmine: {token: {secret: {key: bad}}}"))
	require.ErrorContains(t, err, `mine.token.secret.key: "******" must be good`)

	c, err = ReadConfiguration(ConfigFile("nowhere.yaml"))
	require.ErrorContains(t, err, "read the configuration")
	require.Nil(t, c)
}
