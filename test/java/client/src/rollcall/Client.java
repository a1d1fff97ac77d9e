package rollcall;

import com.alibaba.nacos.api.NacosFactory;
import com.alibaba.nacos.api.PropertyKeyConst;
import com.alibaba.nacos.api.naming.NamingMaintainService;
import com.alibaba.nacos.api.naming.NamingService;
import com.alibaba.nacos.api.naming.listener.NamingEvent;
import com.alibaba.nacos.api.naming.pojo.Instance;
import com.alibaba.nacos.client.naming.utils.UtilAndComs;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Properties;

/**
 * Drives nacos-client for the Go tests. Each line on standard input is a request,
 * {"id": 1, "op": "register", …}; each line on standard output is its answer,
 * {"id": 1, "value": …} or {"id": 1, "error": "…"}, or a change that a
 * subscription was told of, {"change": "service", "hosts": […]}. Whatever else is
 * written goes to standard error.
 */
public final class Client {
    private static final ObjectMapper JSON =
            new ObjectMapper().configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false);

    private final PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), true);
    private final Properties properties = new Properties();
    private NamingService naming;
    private NamingMaintainService maintain;

    public static void main(String[] args) throws Exception {
        System.setOut(System.err);
        Client client = new Client();
        client.properties.setProperty(PropertyKeyConst.SERVER_ADDR, args[0]);
        if (args.length == 3) {
            client.properties.setProperty(PropertyKeyConst.USERNAME, args[1]);
            client.properties.setProperty(PropertyKeyConst.PASSWORD, args[2]);
        }
        client.serve();
        // The client's threads are not all daemons: the end of the input is the end.
        System.exit(0);
    }

    private void serve() throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode request = JSON.readTree(line);
            ObjectNode answer = JSON.createObjectNode();
            answer.set("id", request.get("id"));
            try {
                answer.set("value", JSON.valueToTree(perform(request)));
            } catch (Exception e) {
                answer.put("error", e.toString());
            }
            send(answer);
        }
    }

    private Object perform(JsonNode request) throws Exception {
        String op = request.get("op").asText();
        if (op.equals("version")) {
            return UtilAndComs.VERSION;
        }
        if (naming == null) {
            naming = NacosFactory.createNamingService(properties);
            maintain = NacosFactory.createMaintainService(properties);
        }
        String service = request.path("service").asText();
        Instance instance = request.has("instance") ? JSON.treeToValue(request.get("instance"), Instance.class) : null;
        switch (op) {
            case "status":
                return naming.getServerStatus();
            case "register":
                naming.registerInstance(service, instance);
                return null;
            case "update":
                maintain.updateInstance(service, instance);
                return null;
            case "deregister":
                naming.deregisterInstance(service, instance);
                return null;
            case "list":
                return naming.getAllInstances(service, false);
            case "select":
                return naming.selectInstances(service, true, false);
            case "subscribe":
                naming.subscribe(service, event -> changed(service, ((NamingEvent) event).getInstances()));
                return null;
            default:
                throw new IllegalArgumentException(request.toString());
        }
    }

    private void changed(String service, List<Instance> hosts) {
        ObjectNode change = JSON.createObjectNode();
        change.put("change", service);
        change.set("hosts", JSON.valueToTree(hosts));
        send(change);
    }

    private synchronized void send(ObjectNode message) {
        byte[] line = (message + "\n").getBytes(StandardCharsets.UTF_8);
        out.write(line, 0, line.length);
        out.flush();
    }
}
