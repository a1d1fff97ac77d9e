package discovery_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-go/rollcall/discovery"
	"github.com/rollcall-go/rollcall/registry"
)

const byHand = `{"format": 1, "list": {"name": "orders", "instances": [{"ip": "192.0.2.9", "port": 8080, "metadata": {"by": "hand"}}]}}`

// operator is whoever turns the switch.
type operator struct {
	t   *testing.T
	dir string
}

func newOperator(t *testing.T) operator {
	t.Helper()
	o := operator{t, t.TempDir()}
	require.NoError(t, os.Mkdir(filepath.Join(o.dir, discovery.FailoverDir), 0o700))
	return o
}

// write writes a file and gives it the time of the bubble, in which changes are
// far enough apart to be seen.
func (o operator) write(name, text string) {
	o.t.Helper()
	path := filepath.Join(o.dir, discovery.FailoverDir, name)
	require.NoError(o.t, os.WriteFile(path, []byte(text), 0o600))
	require.NoError(o.t, os.Chtimes(path, time.Now(), time.Now()))
}

func (o operator) turn(text string) { o.t.Helper(); o.write(discovery.FailoverSwitch, text) }

func (o operator) client(s discovery.Source, change ...func(*discovery.Options)) *discovery.Client {
	o.t.Helper()
	change = append(change, func(p *discovery.Options) { p.Disk.Failover = true })
	return onDisk(o.t, o.dir, s, change...)
}

func TestFailover_TheSwitchPutsTheOperatorsListsInPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOperator(t)
		s := newFake(inst(1))
		c := o.client(s)
		e, _ := subscribe(t, c)
		stock := registry.ServiceID{Name: "stock"}
		_, err := c.Snapshot(t.Context(), stock)
		require.NoError(t, err)

		o.write("orders.json", byHand)
		after(time.Minute)
		require.Equal(t, []string{inst(1).IP}, addresses(snapshot(t, c)), "a list without the switch does nothing")

		o.turn("1\n")
		after(discovery.FailoverCheck)
		got := snapshot(t, c)
		require.Equal(t, discovery.OriginFailover, got.Origin)
		require.Equal(t, "192.0.2.9", got.Instances[0].IP)
		require.True(t, got.Instances[0].Healthy && got.Instances[0].Enabled && got.Instances[0].Weight == 1)
		require.Equal(t, "hand", got.Instances[0].Metadata["by"])
		require.Equal(t, []uint64{1, 2}, e.revisions(), "listeners hear of it")
		require.True(t, c.State().Failover)
		other, err := c.Snapshot(t.Context(), stock)
		require.NoError(t, err)
		require.Equal(t, "fake", other.Origin, "a service without a file is not touched")

		s.set(inst(2))
		s.push(orders, inst(2))
		after(time.Minute)
		require.Equal(t, []string{inst(9).IP}, addresses(snapshot(t, c)), "whatever the sources say")
		require.Len(t, e.all(), 2)

		o.write("orders.json", `{"format": 1, "list": {"name": "orders", "instances": []}}`)
		after(discovery.FailoverCheck)
		require.Empty(t, snapshot(t, c).Instances, "a file may change, and an empty list is one")

		o.turn("0\n")
		after(discovery.FailoverCheck)
		require.Equal(t, []string{inst(2).IP}, addresses(snapshot(t, c)), "what the sources said meanwhile is known")
		require.False(t, c.State().Failover)
		require.Equal(t, []uint64{1, 2, 3, 4}, e.revisions())
	})
}

// A service that only the operator knew of is looked up when the switch is turned
// back, and not when its next poll happens to be due.
func TestFailover_WhatTheSourcesNeverToldIsAskedWhenItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOperator(t)
		o.write("orders.json", byHand)
		o.turn("1")
		s := newFake()
		s.fail(errDown)
		c := o.client(s, func(p *discovery.Options) { p.MaxBackOff = time.Hour })
		e, _ := subscribe(t, c)
		after(90 * time.Minute)
		fetches := s.fetches()
		s.set(inst(2))
		after(time.Minute)
		require.Equal(t, fetches, s.fetches(), "the next poll is far away")
		o.turn("0")
		after(discovery.FailoverCheck)
		all := e.all()
		require.Equal(t, []string{inst(2).IP}, addresses(all[len(all)-1]))
		require.Equal(t, fetches+1, s.fetches())
	})
}

// In an outage from the start on, with nothing saved.
func TestFailover_AnswersWithoutTheSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOperator(t)
		o.write("orders.json", byHand)
		o.turn("1")
		s := newFake()
		s.hang()
		c := o.client(s, func(p *discovery.Options) { p.FailureTolerance.Disabled = true })
		began := time.Now()
		require.Equal(t, []string{inst(9).IP}, addresses(snapshot(t, c)))
		require.Zero(t, time.Since(began), "nobody waits for a source")
		e, _ := subscribe(t, c)
		require.Len(t, e.all(), 1)

		require.NoError(t, os.Remove(filepath.Join(o.dir, discovery.FailoverDir, discovery.FailoverSwitch)))
		after(discovery.FailoverCheck)
		_, err := c.Snapshot(t.Context(), orders)
		require.Error(t, err, "the sources have said nothing yet")
		s.set(inst(3))
		after(2 * time.Minute)
		require.Equal(t, []string{inst(3).IP}, addresses(snapshot(t, c)))
		require.Len(t, e.all(), 2)
	})
}

func TestFailover_AFileThatCannotBeReadCountsAsNotThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logBuffer
		o := newOperator(t)
		c := o.client(newFake(inst(1)), func(p *discovery.Options) { p.Logger = log.logger() })
		snapshot(t, c)
		o.turn("1")
		for name, text := range map[string]string{
			"no-json.json":  "orders: 192.0.2.9",
			"no-name.json":  `{"format":1,"list":{"instances":[]}}`,
			"no-ip.json":    `{"format":1,"list":{"name":"orders","instances":[{"port":1}]}}`,
			"checksum.json": `{"format":1,"checksum":"abc","list":{"name":"orders","instances":[]}}`,
			"format.json":   `{"format":7,"list":{"name":"orders","instances":[]}}`,
			"notes.txt":     byHand,
		} {
			o.write(name, text)
			after(discovery.FailoverCheck)
			require.Equal(t, []string{inst(1).IP}, addresses(snapshot(t, c)), name)
			if name != "notes.txt" {
				require.Contains(t, log.String(), name)
			}
			require.FileExists(t, filepath.Join(o.dir, discovery.FailoverDir, name), "it is the operator's")
		}
	})
}

// A file that the client saved is one an operator can copy.
func TestFailover_ASavedListCanBeCopied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOperator(t)
		fill(t, o.dir, rich())
		text, err := os.ReadFile(filepath.Join(o.dir, ordersFile))
		require.NoError(t, err)
		o.write(ordersFile, string(text))
		o.turn("1")
		c := o.client(newFake(inst(2)))
		want := rich()
		want.Service = orders
		require.Equal(t, []registry.Instance{want}, snapshot(t, c).Instances)
	})
}

func TestFailover_OffReadsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOperator(t)
		o.write("orders.json", byHand)
		o.turn("1")
		c := onDisk(t, o.dir, newFake(inst(1)))
		require.Equal(t, []string{inst(1).IP}, addresses(snapshot(t, c)))
		require.False(t, c.State().Failover)
	})
}

// Two files for one service do not take turns.
func TestFailover_TheFirstFileOfAServiceCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logBuffer
		o := newOperator(t)
		o.write("b.json", byHand)
		o.write("a.json", strings.Replace(byHand, "192.0.2.9", "192.0.2.8", 1))
		o.write("c.json", strings.Replace(byHand, "192.0.2.9", "192.0.2.7", 1))
		o.turn("1")
		c := o.client(newFake(inst(1)), func(p *discovery.Options) { p.Logger = log.logger() })
		e, _ := subscribe(t, c)
		for range 20 {
			after(discovery.FailoverCheck)
			require.Equal(t, []string{"192.0.2.8"}, addresses(snapshot(t, c)))
		}
		require.Len(t, e.all(), 1)
		require.Contains(t, log.String(), "on=true services=1", "lists that are in force, not files")
		const warning = "two failover lists are for one service"
		require.Equal(t, 2, strings.Count(log.String(), warning), "one line for each that is ignored")
		require.Contains(t, log.String(), "file=a.json ignored=b.json")
		require.Contains(t, log.String(), "file=a.json ignored=c.json")

		require.NoError(t, os.Remove(filepath.Join(o.dir, discovery.FailoverDir, "a.json")))
		after(discovery.FailoverCheck)
		require.Equal(t, []string{"192.0.2.9"}, addresses(snapshot(t, c)))
		require.Contains(t, log.String(), "file=b.json ignored=c.json")
		require.Equal(t, 3, strings.Count(log.String(), warning))
	})
}

// What the first line of the switch says, as editors of all systems write it.
func TestFailover_TheSwitch(t *testing.T) {
	for text, on := range map[string]bool{
		"1": true, "1\n": true, "1\r\n": true, " 1 \r\nsince Monday\r\n": true,
		"": false, "\n": false, "\n1": false, "0": false, "0\r\n1": false, "11": false, "true": false, "\x00": false,
	} {
		t.Run(text, func(t *testing.T) {
			o := newOperator(t)
			o.turn(text)
			require.Equal(t, on, o.client(newFake()).State().Failover)
		})
	}
}

// As a mounted configuration has it: a link to a link to what is replaced.
func TestFailover_FilesBehindLinksMayChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOperator(t)
		dir := filepath.Join(o.dir, discovery.FailoverDir)
		mount := func(version, text string) {
			require.NoError(t, os.Mkdir(filepath.Join(dir, version), 0o700))
			o.write(filepath.Join(version, "orders.json"), text)
			require.NoError(t, os.Symlink(version, filepath.Join(dir, "next")))
			require.NoError(t, os.Rename(filepath.Join(dir, "next"), filepath.Join(dir, "data")))
		}
		mount("one", byHand)
		require.NoError(t, os.Symlink("data/orders.json", filepath.Join(dir, "orders.json")))
		o.turn("1")
		c := o.client(newFake(inst(1)))
		require.Equal(t, []string{"192.0.2.9"}, addresses(snapshot(t, c)))
		after(time.Minute)
		mount("two", strings.Replace(byHand, "192.0.2.9", "192.0.2.8", 1))
		after(discovery.FailoverCheck)
		require.Equal(t, []string{"192.0.2.8"}, addresses(snapshot(t, c)))
	})
}

// What cannot be read for the moment is no reason to give up what is in force.
func TestFailover_StaysWhileNothingCanBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logBuffer
		o := newOperator(t)
		o.write("orders.json", byHand)
		o.turn("1")
		c := o.client(newFake(inst(1)), func(p *discovery.Options) { p.Logger = log.logger() })
		dir, aside := filepath.Join(o.dir, discovery.FailoverDir), filepath.Join(o.dir, "aside")
		// A folder that is a file, and a switch that is a folder, cannot be read by
		// anyone, root included.
		require.NoError(t, os.Rename(dir, aside))
		require.NoError(t, os.WriteFile(dir, nil, 0o600))
		after(10 * discovery.FailoverCheck)
		require.Equal(t, []string{"192.0.2.9"}, addresses(snapshot(t, c)))
		require.Equal(t, 2, strings.Count(log.String(), "cannot be read"), "said once of the switch and once of the folder")

		require.NoError(t, os.Remove(dir))
		after(discovery.FailoverCheck)
		require.Equal(t, []string{inst(1).IP}, addresses(snapshot(t, c)), "a switch that is gone is off")
	})
}
