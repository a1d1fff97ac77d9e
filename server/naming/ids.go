package naming

import (
	"iter"
	"strconv"
	"strings"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// idNumbers gives instances of the generator "snowflake" the smallest number
// that no current instance of the service has. It reads the service once, when
// the first such instance comes, and keeps count from then on.
type idNumbers struct {
	used   map[uint64]struct{} // nil until the first number is asked for
	lowest uint64              // no smaller number is free
}

func generatesNumbers(metadata map[string]string) bool {
	return strings.EqualFold(metadata[wire.MetadataIDGenerator], "snowflake")
}

func (n *idNumbers) next(current iter.Seq[*Instance]) string {
	if n.used == nil {
		n.used = make(map[uint64]struct{})
		for i := range current {
			if id, err := strconv.ParseUint(i.ID, 10, 64); err == nil {
				n.used[id] = struct{}{}
			}
		}
	}
	for {
		id := n.lowest
		n.lowest++
		if _, taken := n.used[id]; !taken {
			n.used[id] = struct{}{}
			return strconv.FormatUint(id, 10)
		}
	}
}

// take notes an id that came with an instance.
func (n *idNumbers) take(id string) {
	if n.used == nil {
		return
	}
	if number, err := strconv.ParseUint(id, 10, 64); err == nil {
		n.used[number] = struct{}{}
	}
}

func (n *idNumbers) free(id string) {
	if n.used == nil {
		return
	}
	number, err := strconv.ParseUint(id, 10, 64)
	if _, taken := n.used[number]; err != nil || !taken {
		return
	}
	delete(n.used, number)
	n.lowest = min(n.lowest, number)
}
