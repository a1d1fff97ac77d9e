package netaddr_test

import (
	"fmt"

	"github.com/rollcall-go/rollcall/internal/netaddr"
)

func ExampleSelect() {
	machine := fake{
		up(2, "docker0", "172.17.0.1"),
		up(3, "eth0", "192.0.2.7", "2001:db8::7"),
	}
	choice, err := netaddr.Select(netaddr.Options{IgnoredInterfaces: netaddr.DefaultIgnoredInterfaces()}, machine)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(choice.IP, choice.IPv6, choice.Interface, choice.Rule)
	// Output: 192.0.2.7 [2001:db8::7] eth0 scan
}
