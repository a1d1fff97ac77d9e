// Package metrics reads what a process tells Prometheus.
package metrics

import (
	"bufio"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Fetch returns the values at a URL: each series by its name and labels, such as
// `pushes_total{outcome="acked"}`, and each name summed over its labels.
func Fetch(client *http.Client, url string) (map[string]float64, error) {
	response, err := client.Get(url)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: status %d", url, response.StatusCode)
	}
	values := make(map[string]float64)
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		line := lines.Text()
		at := strings.LastIndexByte(line, ' ')
		if strings.HasPrefix(line, "#") || at < 0 {
			continue
		}
		value, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("read the metric %s: %w", line, err)
		}
		series := line[:at]
		name, _, labelled := strings.Cut(series, "{")
		values[name] += value
		if labelled {
			values[series] = value
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the metrics: %w", err)
	}
	return values, nil
}
