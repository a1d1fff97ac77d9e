package consensus

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func contained(t require.TestingT, content []byte, pieces ...int) []byte {
	var b bytes.Buffer
	c, err := newContainer(&b, raft.SnapshotMeta{ID: "x", Index: 9})
	require.NoError(t, err)
	for _, n := range pieces {
		n = min(n, len(content))
		_, err := c.Write(content[:n])
		require.NoError(t, err)
		content = content[n:]
	}
	_, err = c.Write(content)
	require.NoError(t, err)
	require.NoError(t, c.Close())
	return b.Bytes()
}

func extract(data []byte) ([]byte, error) {
	c, err := openContainer(bytes.NewReader(data), "test")
	if err != nil {
		return nil, err
	}
	return io.ReadAll(c)
}

func TestContainer_RoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.OneOf(rapid.IntRange(0, 300), rapid.IntRange(2*chunkBytes-3, 2*chunkBytes+3)).Draw(t, "size")
		content := bytes.Repeat([]byte("0123456789abcde"), size/15+1)[:size]
		got, err := extract(contained(t, content, rapid.SliceOfN(rapid.IntRange(0, chunkBytes+5), 0, 5).Draw(t, "pieces")...))
		require.NoError(t, err)
		require.Empty(t, bytes.Compare(content, got))
	})
}

func TestSB22_DamagedSnapshotIsNeverBelieved(t *testing.T) {
	whole := contained(t, []byte(strings.Repeat("some state ", 20)))
	var damage *DamageError
	for at := range whole {
		damaged := append([]byte(nil), whole...)
		damaged[at] ^= 1
		_, err := extract(damaged)
		require.ErrorAs(t, err, &damage, "byte %d", at)
		_, err = extract(whole[:at])
		require.ErrorAs(t, err, &damage, "%d bytes", at)
	}
	_, err := extract(append(append([]byte(nil), whole...), 0))
	require.ErrorAs(t, err, &damage, "something follows")

	two := contained(t, append(bytes.Repeat([]byte("a"), chunkBytes), bytes.Repeat([]byte("b"), chunkBytes)...))
	c, err := openContainer(bytes.NewReader(two), "test")
	require.NoError(t, err)
	at, chunk := int(c.offset), chunkBytes+8
	swapped := append([]byte(nil), two...)
	copy(swapped[at:], two[at+chunk:at+2*chunk])
	copy(swapped[at+chunk:], two[at:at+chunk])
	_, err = extract(swapped)
	require.ErrorAs(t, err, &damage, "chunks changed places")
}

func FuzzContainer(f *testing.F) {
	f.Add(contained(f, []byte("state")))
	f.Add(contained(f, nil))
	f.Add([]byte(containerMagic + "\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := extract(data)
		var damage *DamageError
		if err != nil && !errors.As(err, &damage) {
			t.Fatal(err)
		}
	})
}
