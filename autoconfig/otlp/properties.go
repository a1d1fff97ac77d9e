package otlp

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// SamplingProperties is the block management.tracing: which requests are traced.
// The keys are Spring Boot's.
type SamplingProperties struct {
	// Enabled traces, on; without management.otlp.tracing.endpoint there is nothing
	// to trace for.
	Enabled bool `mapstructure:"enabled"`
	// Sampling says how many of them.
	Sampling Sampling `mapstructure:"sampling"`
}

// Sampling is the block management.tracing.sampling.
type Sampling struct {
	// Probability that a request which nobody traces yet is traced, 0 to 1. Whoever
	// calls with a traceparent has decided already.
	Probability float64 `mapstructure:"probability"`
}

// DefaultSamplingProperties returns the defaults of the block management.tracing.
func DefaultSamplingProperties() SamplingProperties {
	return SamplingProperties{Enabled: true, Sampling: Sampling{Probability: 0.1}}
}

// Validate reports every value that cannot work.
func (p *SamplingProperties) Validate() error {
	if !(p.Sampling.Probability >= 0 && p.Sampling.Probability <= 1) { // so that NaN is neither
		return errors.New("sampling.probability: must be 0 to 1")
	}
	return nil
}

// Compression is how what is sent is compressed.
type Compression string

// The compressions of OTLP.
const (
	// CompressionNone sends as it is.
	CompressionNone Compression = "none"
	// CompressionGzip sends gzip.
	CompressionGzip Compression = "gzip"
)

// ExportProperties is the block management.otlp.tracing: where traces are sent.
// The keys are Spring Boot's.
type ExportProperties struct {
	// Endpoint is the whole URL that traces are sent to, such as
	// http://collector:4318/v1/traces; without a path it is that one. "" traces
	// nothing.
	Endpoint string `mapstructure:"endpoint"`
	// Headers are sent along, such as the credentials that a collector asks for.
	Headers map[string]string `mapstructure:"headers"`
	// Timeout bounds one request to the collector, 10s.
	Timeout time.Duration `mapstructure:"timeout"`
	// Compression is none (default) or gzip.
	Compression Compression `mapstructure:"compression"`
}

// DefaultExportProperties returns the defaults of the block
// management.otlp.tracing.
func DefaultExportProperties() ExportProperties {
	return ExportProperties{Timeout: 10 * time.Second, Compression: CompressionNone}
}

// Validate reports every value that cannot work.
func (p *ExportProperties) Validate() error {
	var errs []error
	if p.Endpoint != "" {
		if _, err := p.url(); err != nil {
			errs = append(errs, fmt.Errorf("endpoint: %w", err))
		}
	}
	for name, value := range p.Headers {
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			errs = append(errs, fmt.Errorf("headers: %q cannot be sent", name))
		}
	}
	if p.Timeout <= 0 {
		errs = append(errs, errors.New("timeout: must be more than 0"))
	}
	if p.Compression != CompressionNone && p.Compression != CompressionGzip {
		errs = append(errs, errors.New("compression: must be none or gzip"))
	}
	return errors.Join(errs...)
}

// tracesPath is where collectors take traces (OTLP specification, "OTLP/HTTP
// Request").
const tracesPath = "/v1/traces"

// url is the endpoint with its path. A user or a query is refused, and with them
// the credentials that would be shown wherever the endpoint is.
func (p *ExportProperties) url() (*url.URL, error) {
	u, err := url.Parse(p.Endpoint)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return nil, errors.New("must be a URL such as http://collector:4318" + tracesPath)
	case u.User != nil:
		return nil, errors.New("must not hold a user; headers carry credentials")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("must not have a query or a fragment")
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = tracesPath
	}
	return u, nil
}

// header is the headers with their names in one form.
func (p *ExportProperties) header() map[string]string {
	headers := make(map[string]string, len(p.Headers))
	for name, value := range p.Headers {
		headers[http.CanonicalHeaderKey(name)] = strings.TrimSpace(value)
	}
	return headers
}
