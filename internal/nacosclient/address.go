package nacosclient

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

// DefaultPort is the port of a server given without one and without a scheme.
const DefaultPort = 8848

// endpoint is one server, ready to have a path appended.
type endpoint struct {
	// entry is the text of the configuration, for errors.
	entry string
	// host is the name or address without port and brackets.
	host string
	// base is scheme, authority and context path, without a slash at the end.
	base string
}

// named reports whether the server is given by a name that has to be looked up.
func (e endpoint) named() bool {
	_, err := netip.ParseAddr(e.host)
	return e.host != "" && err != nil
}

// scheme is that of servers that name none.
func (o Options) scheme() string {
	if o.TLS != nil {
		return "https"
	}
	return "http"
}

// addressServer parses the endpoint; without one the result has no base. An
// address server speaks plain HTTP unless its scheme says otherwise.
func (o Options) addressServer() (endpoint, error) {
	if o.Endpoint == "" {
		return endpoint{}, nil
	}
	if o.EndpointPort < 1 || o.EndpointPort > 65535 {
		return endpoint{}, fmt.Errorf("endpoint port %d is not 1 to 65535", o.EndpointPort)
	}
	if strings.Contains(o.Endpoint, "@") {
		return endpoint{}, fmt.Errorf("endpoint %q: %w", withoutLogin(o.Endpoint), errLogin)
	}
	text := strings.TrimSuffix(o.Endpoint, "/")
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		scheme, rest = "http", text
	}
	if scheme != "http" && scheme != "https" {
		return endpoint{}, fmt.Errorf("endpoint %q: scheme %q is neither http nor https", o.Endpoint, scheme)
	}
	host, err := parseHostPort(rest, o.EndpointPort)
	if err != nil {
		return endpoint{}, fmt.Errorf("endpoint %q: %w", o.Endpoint, err)
	}
	return endpoint{o.Endpoint, hostname(host), scheme + "://" + host}, nil
}

// endpoints parses all servers; the error names each bad entry. Where there is an
// address server they are none.
func (o Options) endpoints() ([]endpoint, error) {
	contextPath, err := parseContextPath(o.ContextPath)
	errs := []error{err}
	if o.Endpoint != "" {
		return nil, err
	}
	scheme := o.scheme()
	var all []endpoint
	seen := make(map[string]bool)
	for _, entry := range o.Servers {
		e, err := parseServer(entry, scheme, contextPath)
		if err != nil {
			errs = append(errs, fmt.Errorf("server %q: %w", withoutLogin(entry), err))
			continue
		}
		if !seen[e.base] {
			seen[e.base] = true
			all = append(all, e)
		}
	}
	if len(o.Servers) == 0 {
		errs = append(errs, errors.New("no server is configured"))
	}
	return all, errors.Join(errs...)
}

// parseServer reads one entry of the server list (C-R17).
func parseServer(entry, scheme, contextPath string) (endpoint, error) {
	text := strings.TrimSpace(entry)
	switch {
	case text == "":
		return endpoint{}, errors.New("is empty")
	case strings.Contains(text, "@"):
		return endpoint{}, errLogin
	}
	if !strings.Contains(text, "://") {
		text = strings.TrimSuffix(text, "/")
		if strings.Contains(text, "/") {
			return endpoint{}, errors.New("a context path needs http:// or https:// in front of the address")
		}
		host, err := parseHostPort(text, DefaultPort)
		if err != nil {
			return endpoint{}, err
		}
		return endpoint{entry, hostname(host), scheme + "://" + host + contextPath}, nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return endpoint{}, errors.New("is no URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return endpoint{}, fmt.Errorf("scheme %q is neither http nor https", u.Scheme)
	case u.RawQuery != "" || u.Fragment != "":
		return endpoint{}, errors.New("a server URL has only host, port and context path")
	}
	if err := checkHost(u.Hostname(), strings.HasPrefix(u.Host, "[")); err != nil {
		return endpoint{}, err
	}
	if strings.HasSuffix(u.Host, ":") {
		return endpoint{}, errors.New("the port is missing after the colon")
	}
	if port := u.Port(); port != "" {
		if err := checkPort(port); err != nil {
			return endpoint{}, err
		}
	}
	if path := strings.Trim(u.Path, "/"); path != "" {
		if contextPath, err = parseContextPath(path); err != nil {
			return endpoint{}, err
		}
	}
	return endpoint{entry, u.Hostname(), u.Scheme + "://" + u.Host + contextPath}, nil
}

// errLogin refuses user:password@host; what is wrong there is not looked at, since
// a message about it could tell the password.
var errLogin = errors.New("a login does not stand in the address, there are a user name and a password for it")

// withoutLogin is an entry as messages may show it.
func withoutLogin(entry string) string {
	at := strings.LastIndex(entry, "@")
	if at < 0 {
		return entry
	}
	scheme, _, found := strings.Cut(entry[:at], "://")
	if !found {
		return "******" + entry[at:]
	}
	return scheme + "://******" + entry[at:]
}

// parseHostPort reads the forms without a scheme and completes the port.
func parseHostPort(text string, defaultPort int) (string, error) {
	host, port := text, strconv.Itoa(defaultPort)
	bracketed := strings.HasPrefix(text, "[")
	switch {
	case bracketed && strings.HasSuffix(text, "]"):
		host = text[1 : len(text)-1]
	case strings.Count(text, ":") > 1 && !bracketed:
		return "", errors.New("an IPv6 address stands in brackets, [::1]:8848")
	case strings.Contains(text, ":"):
		var err error
		if host, port, err = net.SplitHostPort(text); err != nil {
			return "", errors.New("is not of the form host:port")
		}
	}
	if err := checkHost(host, bracketed); err != nil {
		return "", err
	}
	if err := checkPort(port); err != nil {
		return "", err
	}
	return net.JoinHostPort(host, port), nil
}

func hostname(hostPort string) string {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		return hostPort
	}
	return host
}

func checkPort(text string) error {
	if n, err := strconv.ParseUint(text, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("port %q is not 1 to 65535", text)
	}
	return nil
}

// checkHost accepts address literals and names of letters, digits, "-", "_" and
// ".", with which people name containers and hosts.
func checkHost(host string, bracketed bool) error {
	addr, err := netip.ParseAddr(host)
	switch {
	case host == "":
		return errors.New("the host is missing")
	case bracketed && (err != nil || !addr.Is6() || addr.Zone() != ""):
		return fmt.Errorf("%q is no IPv6 address", host)
	case err == nil:
		return nil
	}
	for _, r := range host {
		if r > 127 || !strings.ContainsRune("-_.", r) && !isAlphanumeric(r) {
			return fmt.Errorf("host %q holds %q", host, r)
		}
	}
	if strings.Trim(host, "0123456789.") == "" {
		return fmt.Errorf("%q is no IPv4 address", host)
	}
	return nil
}

func isAlphanumeric(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// CheckContextPath reports what is wrong with [Options].ContextPath.
func CheckContextPath(text string) error {
	_, err := parseContextPath(text)
	return err
}

// parseContextPath returns the prefix of all paths, "" or "/a/b" (C-R18).
func parseContextPath(text string) (string, error) {
	trimmed := strings.Trim(strings.TrimSpace(text), "/")
	if trimmed == "" {
		return "", nil
	}
	for _, segment := range strings.Split(trimmed, "/") {
		if segment == "" || segment == "." || segment == ".." || strings.ContainsAny(segment, "?#% \\") ||
			strings.ContainsFunc(segment, unicode.IsControl) {
			return "", fmt.Errorf("context path %q holds the segment %q", text, segment)
		}
	}
	return "/" + trimmed, nil
}
