package loadbalance

import (
	"errors"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/rollcall-go/rollcall/registry"
)

// MetadataAPIVersion is the metadata key that says which version of its API an
// instance offers.
const MetadataAPIVersion = "API_VERSION"

// ErrAPIVersion is wrapped by the error of a call that names no version where one
// is required, or one that cannot be read.
var ErrAPIVersion = errors.New("no usable API version in the request")

// version is major, minor and patch; what is missing is 0.
type version [3]int

// parseVersion reads "1", "1.2", "1.2.3", with whatever is no digit in front, as
// in "v1" (Spring's SemanticApiVersionParser). What follows a third part is not
// looked at.
func parseVersion(text string) (version, bool) {
	var v version
	start := strings.IndexAny(text, "0123456789")
	if start < 0 {
		return v, false
	}
	rest, more := strings.TrimSpace(text[start:]), true
	for n := 0; n < len(v) && more; n++ {
		var part string
		part, rest, more = strings.Cut(rest, ".")
		number, err := strconv.Atoi(part)
		if err != nil || number < 0 {
			return v, false
		}
		v[n] = number
	}
	return v, true
}

// versionStage keeps the instances of the version that a request wants.
func versionStage(p APIVersionProperties) Stage {
	find := versionFinder(p)
	standard, hasStandard := parseVersion(p.Default)
	return Stage{name: StageAPIVersion, rank: rankRequired, split: &split{
		of: func(i *registry.Instance) (splitKey, bool) {
			v, ok := parseVersion(i.Metadata[MetadataAPIVersion])
			return splitKey{version: v}, ok
		},
		asked: func(_ *view, r *Request) (splitKey, bool, error) {
			text := find(r)
			if text == "" {
				if p.Required {
					return splitKey{}, false, ErrAPIVersion
				}
				return splitKey{version: standard}, hasStandard, nil
			}
			v, ok := parseVersion(text)
			if !ok {
				return splitKey{}, false, ErrAPIVersion
			}
			return splitKey{version: v}, true, nil
		},
		strict: !p.FallbackToAvailableInstances,
	}}
}

// versionFinder returns where the text of a version is looked for.
func versionFinder(p APIVersionProperties) func(*Request) string {
	header := http.CanonicalHeaderKey(p.Header)
	parameters := make(map[string]string, len(p.MediaTypeParameters))
	for media, name := range p.MediaTypeParameters {
		parameters[strings.ToLower(media)] = strings.ToLower(name)
	}
	return func(r *Request) string {
		if header != "" {
			if text := r.header(header); text != "" {
				return text
			}
		}
		if p.QueryParameter != "" {
			if text, _ := r.Query(p.QueryParameter); text != "" {
				return text
			}
		}
		if p.PathSegment >= 0 && r.URL != nil {
			if text := pathSegment(r.URL.Path, p.PathSegment); text != "" {
				return text
			}
		}
		if len(parameters) > 0 {
			return mediaVersion(r, parameters)
		}
		return ""
	}
}

// pathSegment returns the n-th part between slashes; "" when there are fewer.
func pathSegment(path string, n int) string {
	path = strings.TrimPrefix(path, "/")
	for range n {
		var more bool
		if _, path, more = strings.Cut(path, "/"); !more {
			return ""
		}
	}
	segment, _, _ := strings.Cut(path, "/")
	return segment
}

// mediaVersion looks into the media types of Accept, then that of Content-Type.
func mediaVersion(r *Request, parameters map[string]string) string {
	for _, name := range []string{"Accept", "Content-Type"} {
		for _, line := range r.Header[name] {
			for part := range strings.SplitSeq(line, ",") {
				media, values, err := mime.ParseMediaType(part)
				if err != nil {
					continue
				}
				if text := values[parameters[media]]; text != "" {
					return text
				}
			}
		}
	}
	return ""
}
