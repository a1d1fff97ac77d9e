package rollcall;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.cloud.client.loadbalancer.LoadBalanced;
import org.springframework.context.annotation.Bean;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.client.RestTemplate;

/**
 * What a user of Spring Cloud Alibaba writes: one route of its own and one that
 * calls another service by name. It is configured from the command line.
 */
@SpringBootApplication
@RestController
public class App {
    private final RestTemplate client;
    private final String name;

    App(RestTemplate client, @Value("${spring.application.name}") String name) {
        this.client = client;
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
