package nacosclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// ParseList reads the document of a list, answered or pushed. One that is no
// list at all, such as {}, is an error: it must not pass for an empty list. What
// nobody could call, without an address or with a port that is none, is left out,
// unless nothing else is there: that is no list either.
func ParseList(body []byte) (wire.ServiceList, error) {
	var list wire.ServiceList
	if err := json.Unmarshal(body, &list); err != nil {
		return wire.ServiceList{}, fmt.Errorf("is no list of instances: %w", err)
	}
	if list.Hosts == nil {
		return wire.ServiceList{}, errors.New("is no list of instances: hosts is missing")
	}
	listed := len(list.Hosts)
	list.Hosts = slices.DeleteFunc(list.Hosts, func(h wire.Host) bool {
		return strings.TrimSpace(h.IP) == "" || wire.CheckPort(h.Port) != nil
	})
	if len(list.Hosts) == 0 && listed > 0 {
		return wire.ServiceList{}, fmt.Errorf("is no list of instances: none of %d has an address", listed)
	}
	return list, nil
}
