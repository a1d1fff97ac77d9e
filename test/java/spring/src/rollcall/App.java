package rollcall;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.cloud.client.loadbalancer.LoadBalanced;
import org.springframework.cloud.client.serviceregistry.Registration;
import org.springframework.cloud.client.serviceregistry.ServiceRegistry;
import org.springframework.context.annotation.Bean;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.client.RestTemplate;

/**
 * What a user of Spring Cloud Alibaba writes: one route of its own, one that calls
 * another service by name, and one that takes the app out of service and back. It
 * is configured from the command line.
 */
@SpringBootApplication
@RestController
public class App {
    private final RestTemplate client;
    private final ServiceRegistry<Registration> registry;
    private final Registration registration;
    private final String name;

    App(RestTemplate client, ServiceRegistry<Registration> registry, Registration registration,
            @Value("${spring.application.name}") String name) {
        this.client = client;
        this.registry = registry;
        this.registration = registration;
        this.name = name;
    }

    public static void main(String[] args) {
        SpringApplication.run(App.class, args);
    }

    @GetMapping("/hello")
    String hello() {
        return "hello from " + name;
    }

    @GetMapping("/via/{service}")
    String via(@PathVariable String service) {
        return client.getForObject("http://" + service + "/hello", String.class);
    }

    @GetMapping("/status/{status}")
    void status(@PathVariable String status) {
        registry.setStatus(registration, status);
    }

    /** The client that takes the host of an address for the name of a service. */
    @org.springframework.context.annotation.Configuration
    static class Client {
        @Bean
        @LoadBalanced
        RestTemplate client() {
            return new RestTemplate();
        }
    }
}
