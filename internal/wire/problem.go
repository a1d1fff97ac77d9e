package wire

import (
	"encoding/json"
	"errors"
	"fmt"
)

// ExplainJSON says what is wrong with a JSON document in the words of whoever
// sent it: where it ends being JSON, or which value is of the wrong kind. The
// decoder's own words speak of Go's types.
func ExplainJSON(err error) string {
	var bad BadRequest
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &bad):
		return string(bad)
	case errors.Is(err, errNested):
		return errNested.Error()
	case errors.As(err, &syntax):
		return fmt.Sprintf("no valid JSON from byte %d on", syntax.Offset)
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Sprintf("%s cannot be of the kind %s", Excerpt(kind.Field), kind.Value)
	case errors.As(err, &kind):
		return fmt.Sprintf("it cannot be of the kind %s", kind.Value)
	}
	return "not the JSON that is expected here"
}
