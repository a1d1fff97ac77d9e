package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the scripts in testdata, each in an empty folder of its own
// with this binary as rollcall. Besides the commands of testscript there are
//
//	serve NAME [VAR=VALUE] [ARGS]
//	                      start a server; $NAME is its URL, $ROLLCALL_SERVER that of the last one
//	stop NAME             end it with SIGTERM and wait for exit code 0
//	certificate HOST      write cert.pem and key.pem for a host
//	password VAR          take a generated password from the last output
//	waitfor FILE PATTERN  wait until a file has a line like that
//	until PATTERN COMMAND [ARGS]
//	                      repeat a command until it succeeds and prints a line like that
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Values[processes] = &running{all: make(map[string]*exec.Cmd)}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve": scriptServe, "stop": scriptStop, "certificate": scriptCertificate,
			"password": scriptPassword, "waitfor": scriptWaitFor, "until": scriptUntil,
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// processes is the key of a script's servers.
const processes = "processes"

type running struct {
	mu  sync.Mutex
	all map[string]*exec.Cmd
}

func scriptServe(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: serve NAME [VAR=VALUE] [ARGS]")
	}
	name, args := args[0], args[1:]
	env := append(os.Environ(), asRollcall+"=1", "ROLLCALL_CONFIG=")
	for len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		env, args = append(env, args[0]), args[1:]
	}
	binary, err := os.Executable()
	ts.Check(err)
	cmd := exec.Command(binary, append([]string{"server", "--port", "0", "--address", "127.0.0.1"}, args...)...)
	cmd.Dir = ts.Getenv("WORK")
	cmd.Env = env
	pipe, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	found, ended := make(chan string, 1), make(chan struct{})
	var lines []string
	go func() { // ends with the process, whose standard error it reads
		defer close(ended)
		serves := regexp.MustCompile(`msg="registry serves" url=(\S+)`)
		for scanner := bufio.NewScanner(pipe); scanner.Scan(); {
			lines = append(lines, scanner.Text())
			if m := serves.FindStringSubmatch(scanner.Text()); m != nil {
				found <- m[1]
			}
		}
	}()
	ts.Defer(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			<-ended
			_ = cmd.Wait()
		}
	})
	r := ts.Value(processes).(*running)
	r.mu.Lock()
	r.all[name] = cmd
	r.mu.Unlock()
	select {
	case url := <-found:
		stopChecks(ts, url)
		ts.Setenv(name, url)
		ts.Setenv("ROLLCALL_SERVER", url)
	case <-ended:
		ts.Fatalf("the server %s ended: %q", name, lines)
	case <-time.After(soon):
		ts.Fatalf("the server %s does not say that it serves", name)
	}
}

// stopChecks keeps the server from asking instances how they are, as none is
// there. A server with authentication on is left as it is.
func stopChecks(ts *testscript.TestScript, url string) {
	if !strings.HasPrefix(url, "http:") {
		return
	}
	req, err := http.NewRequest(http.MethodPut, url+"/v1/ns/operator/switches?entry=check&value=false", nil)
	ts.Check(err)
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	ts.Check(resp.Body.Close())
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusForbidden {
		ts.Fatalf("switch checks off: %s", resp.Status)
	}
}

func scriptStop(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: stop NAME")
	}
	r := ts.Value(processes).(*running)
	r.mu.Lock()
	cmd := r.all[args[0]]
	r.mu.Unlock()
	ts.Check(cmd.Process.Signal(syscall.SIGTERM))
	ts.Check(cmd.Wait())
}

func scriptCertificate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: certificate HOST")
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: args[0]},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.ParseIP(args[0])}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	ts.Check(err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	ts.Check(err)
	write := func(name, kind string, bytes []byte) {
		ts.Check(os.WriteFile(ts.MkAbs(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600))
	}
	write("cert.pem", "CERTIFICATE", certificate)
	write("key.pem", "PRIVATE KEY", private)
}

var generated = regexp.MustCompile(`\b[A-Z2-7]{26}\b`)

func scriptPassword(ts *testscript.TestScript, neg bool, args []string) {
	password := generated.FindString(ts.ReadFile("stdout"))
	if neg || len(args) != 1 || password == "" {
		ts.Fatalf("no password in the last output")
	}
	ts.Setenv(args[0], password)
}

func scriptWaitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: waitfor FILE PATTERN")
	}
	pattern := regexp.MustCompile("(?m)" + args[1])
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(soon)
	for {
		text, err := os.ReadFile(filepath.Clean(ts.MkAbs(args[0])))
		if err == nil && pattern.Match(text) {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline:
			ts.Fatalf("%s never has %q: %s", args[0], args[1], text)
		}
	}
}

func scriptUntil(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until PATTERN COMMAND [ARGS]")
	}
	pattern := regexp.MustCompile("(?m)" + args[0])
	for deadline := time.Now().Add(soon); ; {
		err := ts.Exec(args[1], args[2:]...)
		if err == nil && pattern.MatchString(ts.ReadFile("stdout")) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%q never prints %q: %v", args[1:], args[0], err)
		}
	}
}
