package autoconfig

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
	dto "github.com/prometheus/client_model/go"
)

// metricView is a metric in the form of Spring's endpoint metrics.
type metricView struct {
	Name          string            `json:"name"`
	Description   string            `json:"description"`
	Measurements  []measurementView `json:"measurements"`
	AvailableTags []tagView         `json:"availableTags"`
}

type measurementView struct {
	Statistic string  `json:"statistic"`
	Value     float64 `json:"value"`
}

type tagView struct {
	Tag    string   `json:"tag"`
	Values []string `json:"values"`
}

// gather returns the metrics that can be had; an error of one collector hides
// none of the others.
func (a *actuator) gather() []*dto.MetricFamily {
	families, _ := a.metrics.Gather()
	return families
}

func (a *actuator) metricNames(c *gin.Context) {
	names := []string{}
	for _, f := range a.gather() {
		names = append(names, f.GetName())
	}
	reply(c, http.StatusOK, gin.H{"names": names})
}

// metric adds up the series of a metric: all of them, or those with the tags of
// the query (?tag=uri:/users).
func (a *actuator) metric(c *gin.Context) {
	for _, f := range a.gather() {
		if f.GetName() != c.Param("name") {
			continue
		}
		view, ok := viewMetric(f, c.QueryArray("tag"))
		if !ok {
			break
		}
		reply(c, http.StatusOK, view)
		return
	}
	say(c, http.StatusNotFound, "there is no such metric, or none with these tags")
}

func viewMetric(f *dto.MetricFamily, tags []string) (metricView, bool) {
	sums, values, found := map[string]float64{}, map[string]map[string]bool{}, false
	for _, m := range f.GetMetric() {
		if !tagged(m, tags) {
			continue
		}
		found = true
		measure(m, sums)
		for _, l := range m.GetLabel() {
			if values[l.GetName()] == nil {
				values[l.GetName()] = map[string]bool{}
			}
			values[l.GetName()][l.GetValue()] = true
		}
	}
	view := metricView{Name: f.GetName(), Description: f.GetHelp(), Measurements: []measurementView{}, AvailableTags: []tagView{}}
	for _, statistic := range slices.Sorted(maps.Keys(sums)) {
		view.Measurements = append(view.Measurements, measurementView{statistic, sums[statistic]})
	}
	for _, tag := range slices.Sorted(maps.Keys(values)) {
		if !slices.ContainsFunc(tags, func(t string) bool { return strings.HasPrefix(t, tag+":") }) {
			view.AvailableTags = append(view.AvailableTags, tagView{tag, slices.Sorted(maps.Keys(values[tag]))})
		}
	}
	return view, found
}

// tagged reports whether a series has all of the tags, each name:value.
func tagged(m *dto.Metric, tags []string) bool {
	for _, tag := range tags {
		name, value, _ := strings.Cut(tag, ":")
		if !slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetName() == name && l.GetValue() == value }) {
			return false
		}
	}
	return true
}

// measure adds a series to the statistics, in Spring's words for them.
func measure(m *dto.Metric, sums map[string]float64) {
	switch {
	case m.GetCounter() != nil:
		sums["COUNT"] += m.GetCounter().GetValue()
	case m.GetHistogram() != nil:
		sums["COUNT"] += float64(m.GetHistogram().GetSampleCount())
		sums["TOTAL"] += m.GetHistogram().GetSampleSum()
	case m.GetSummary() != nil:
		sums["COUNT"] += float64(m.GetSummary().GetSampleCount())
		sums["TOTAL"] += m.GetSummary().GetSampleSum()
	case m.GetGauge() != nil:
		sums["VALUE"] += m.GetGauge().GetValue()
	default:
		sums["VALUE"] += m.GetUntyped().GetValue()
	}
}
