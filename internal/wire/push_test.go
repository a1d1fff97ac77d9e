package wire

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPush_SmallIsPlain(t *testing.T) {
	p := Push{Type: PushDom, Data: `{"hosts":[]}`, LastRefTime: 912345678901234}
	b := EncodePush(p)
	require.Equal(t, `{"type":"dom","data":"{\"hosts\":[]}","lastRefTime":912345678901234}`, string(b))
	got, err := DecodePush(b)
	require.NoError(t, err)
	require.Equal(t, p, got)
}

func TestPush_From1024BytesItIsPacked(t *testing.T) {
	frame := len(EncodePush(Push{Type: PushDom, LastRefTime: 1}))
	for size, packed := range map[int]bool{1023: false, 1024: true, 100_000: true} {
		p := Push{Type: PushDom, Data: strings.Repeat("x", size-frame), LastRefTime: 1}
		b := EncodePush(p)
		require.Equal(t, packed, bytes.HasPrefix(b, []byte{0x1f, 0x8b}), size)
		got, err := DecodePush(b)
		require.NoError(t, err)
		require.Equal(t, p, got)
	}
}

func TestDecodePush_TakesNumbersAsStringsAndIsBounded(t *testing.T) {
	p, err := DecodePush([]byte(`{"type":"service","data":"x","lastRefTime":"7"}`))
	require.NoError(t, err)
	require.Equal(t, Push{Type: PushService, Data: "x", LastRefTime: 7}, p)

	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	_, err = w.Write(make([]byte, maxUnpacked+1))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.Less(t, bomb.Len(), MaxDatagram)
	for name, b := range map[string][]byte{
		"bomb": bomb.Bytes(), "torn": bomb.Bytes()[:100], "no gzip": {0x1f, 0x8b, 0, 0}, "no JSON": []byte("x"), "nothing": nil,
	} {
		_, err := DecodePush(b)
		require.Error(t, err, name)
	}
}

func TestAck(t *testing.T) {
	a := Ack{Type: AckPush, LastRefTime: 912345678901234}
	require.Equal(t, `{"type":"push-ack","lastRefTime":"912345678901234","data":""}`, string(a.Encode()))
	for _, text := range []string{string(a.Encode()), `{"type":"push-ack","lastRefTime":912345678901234,"data":null}`} {
		got, err := DecodeAck([]byte(text))
		require.NoError(t, err)
		require.Equal(t, a, got)
	}
	for _, text := range []string{"", "x", `{"lastRefTime":"x"}`, `{"lastRefTime":{}}`} {
		_, err := DecodeAck([]byte(text))
		require.Error(t, err, text)
	}
}

func FuzzDecodePush(f *testing.F) {
	f.Add([]byte(`{"type":"dom","data":"{}","lastRefTime":1}`))
	f.Add(EncodePush(Push{Type: PushDom, Data: strings.Repeat("x", 2000)}))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := DecodePush(b)
		if err != nil {
			return
		}
		again, err := DecodePush(EncodePush(p))
		require.NoError(t, err)
		require.Equal(t, p, again)
	})
}

func FuzzDecodeAck(f *testing.F) {
	f.Add([]byte(`{"type":"push-ack","lastRefTime":"1","data":""}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := DecodeAck(b)
		if err != nil {
			return
		}
		require.True(t, json.Valid(a.Encode()))
		again, err := DecodeAck(a.Encode())
		require.NoError(t, err)
		require.Equal(t, a, again)
	})
}

func BenchmarkEncodePush_Packed(b *testing.B) {
	p := Push{Type: PushDom, Data: strings.Repeat(javaList, 20), LastRefTime: 1}
	b.ReportAllocs()
	for b.Loop() {
		EncodePush(p)
	}
}
