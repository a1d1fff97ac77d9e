package api

import "github.com/rollcall-go/rollcall/internal/wire"

// notMeasured stands for what the operating system's monitoring knows better.
const notMeasured = -1

// operatorMetrics is what clients ask to learn the server's status; the counts
// are for people. What Nacos counts per node is here the whole.
func (a *API) operatorMetrics(*call) (answer, error) {
	stats := a.store.Stats()
	return jsonOf(struct {
		Status                   string     `json:"status"`
		ServiceCount             int        `json:"serviceCount"`
		InstanceCount            int        `json:"instanceCount"`
		RaftNotifyTaskCount      int        `json:"raftNotifyTaskCount"`
		ResponsibleServiceCount  int        `json:"responsibleServiceCount"`
		ResponsibleInstanceCount int        `json:"responsibleInstanceCount"`
		CPU                      wire.Float `json:"cpu"`
		Load                     wire.Float `json:"load"`
		Mem                      wire.Float `json:"mem"`
	}{
		a.status(), stats.Services, stats.Instances, 0, stats.Services, stats.Instances,
		notMeasured, notMeasured, notMeasured,
	})
}

func (a *API) showSwitches(*call) (answer, error) { return jsonOf(a.switches) }

func (a *API) setSwitch(c *call) (answer, error) {
	entry, err := c.Required("entry")
	if err != nil {
		return answer{}, err
	}
	value, err := c.Required("value")
	if err != nil {
		return answer{}, err
	}
	return ok, a.switches.Set(entry, value)
}
