package autoconfig

import "time"

// stopReserve is what a stop may take beyond its bounded waits (A-R8): closing
// the clients, which is bounded to two seconds, and sending the last spans, which
// package otlp bounds to one.
const stopReserve = 3 * time.Second

// managementShutdown is what requests to the actuator's own server get to finish.
const managementShutdown = time.Second

// startTimeout bounds a start, fx's default: a registry that does not answer is
// given up within it. fx.StartTimeout exchanges it.
const startTimeout = 15 * time.Second

// shutdownTime is what the web server may take to end.
func (s *settings) shutdownTime() time.Duration {
	if !s.webServer().holds || s.server.Shutdown == ShutdownImmediate {
		return 0
	}
	return s.server.LameDuck + s.server.ShutdownTimeout
}

// stopTimeout is what all of a stop may take (A-R8). fx.StopTimeout exchanges it.
func (s *settings) stopTimeout() time.Duration {
	timeout := s.shutdownTime() + stopReserve
	if s.managementServer().holds {
		timeout += managementShutdown
	}
	if s.registration().holds {
		timeout += s.autoOptions().StopBudget()
	}
	return timeout
}
