package nacosclient

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"net/url"
	"strconv"
	"time"
)

// sign adds what a server with access keys wants to see, as Nacos' own client
// does: the key, a time stamp with the service, and the HMAC-SHA1 of both.
func (o Options) sign(query url.Values, now time.Time) {
	data := strconv.FormatInt(now.UnixMilli(), 10)
	if service := query.Get("serviceName"); service != "" {
		data += "@@" + service
	}
	mac := hmac.New(sha1.New, []byte(o.SecretKey))
	mac.Write([]byte(data))
	query.Set("ak", o.AccessKey)
	query.Set("data", data)
	query.Set("signature", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}
