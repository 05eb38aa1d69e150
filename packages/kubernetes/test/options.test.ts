import { systemClock } from "@leasehold/core/provider";
import { KubernetesLeaseStore } from "@leasehold/kubernetes";
import { kubeConfigOf } from "@leasehold/test-kit/stores/kubernetes";
import { expect, test } from "vitest";
import { podAccess } from "../src/access.ts";

const SERVER = "https://10.0.0.1:6443";

const EXEC = { apiVersion: "client.authentication.k8s.io/v1", command: "aws" };

/** A `KubeConfig` of `@kubernetes/client-node`. */
function clientConfig(cluster: object | null): object {
  const getContextObject = () => ({ namespace: "default" });
  return { getCurrentCluster: () => cluster, getCurrentContext: () => "here", getContextObject, applyToHTTPSOptions: () => {} };
}

const REFUSED: ReadonlyArray<readonly [options: object, message: string]> = [
  [{}, "needs kubeConfig outside of a pod"],
  [{ kubeConfig: "/home/me/.kube/config" }, "must be the content of a kubeconfig file"],
  [{ kubeConfig: {} }, "must be the content of a kubeconfig file"],
  [{ kubeConfig: { clusters: [] } }, "no current-context"],
  [{ kubeConfig: { ...kubeConfigOf(SERVER), users: [] } }, "no user 'test'"],
  [{ kubeConfig: { ...kubeConfigOf(SERVER), contexts: {} } }, "no context 'test'"],
  [{ kubeConfig: { ...kubeConfigOf(SERVER), contexts: [null, { name: "test", context: null }] } }, "no cluster in its context"],
  [{ kubeConfig: { ...kubeConfigOf(SERVER), clusters: [{ name: "test", cluster: null }] } }, "server is not a URL"],
  [{ kubeConfig: kubeConfigOf("http://10.0.0.1:8080") }, "only for this machine"],
  [{ kubeConfig: kubeConfigOf("https://me:secret@10.0.0.1") }, "without a user and a password"],
  [{ kubeConfig: kubeConfigOf(SERVER, { "insecure-skip-tls-verify": true }) }, "certificate-authority-data instead"],
  [{ kubeConfig: kubeConfigOf(SERVER, { "proxy-url": "http://proxy" }) }, "proxy-url, which is not supported"],
  [
    { kubeConfig: kubeConfigOf(SERVER, {}, { "auth-provider": {} }) },
    "'auth-provider'. Give a KubeConfig of @kubernetes/client-node",
  ],
  [{ kubeConfig: kubeConfigOf(SERVER, {}, { exec: { command: "aws" } }) }, "needs apiVersion and command"],
  [{ kubeConfig: kubeConfigOf(SERVER, {}, { exec: { ...EXEC, interactiveMode: "Always" } }) }, "interactiveMode Always"],
  [{ kubeConfig: kubeConfigOf(SERVER, {}, { token: 7 }) }, "token of the kubeconfig is not a text"],
  [{ kubeConfig: kubeConfigOf(SERVER, {}, { token: "" }) }, "token of the kubeconfig is not a text"],
  [{ kubeConfig: kubeConfigOf(SERVER, {}, { username: "me" }) }, "'username'. Give a KubeConfig of @kubernetes/client-node"],
  [{ kubeConfig: clientConfig(null) }, "no current cluster: load it before"],
  [{ kubeConfig: clientConfig({ server: SERVER, skipTLSVerify: true }) }, "certificate-authority-data instead"],
  [{ kubeConfig: clientConfig({ server: SERVER, proxyUrl: "http://proxy" }) }, "proxy-url, which is not supported"],
  [{ kubeConfig: { ...clientConfig({ server: SERVER }), getCurrentContext: 1 } }, "must be the content of a kubeconfig file"],
  [{ kubeConfig: { ...clientConfig({ server: SERVER }), applyToHTTPSOptions: 1 } }, "must be the content of a kubeconfig file"],
  [{ kubeConfig: kubeConfigOf("https://:secret@10.0.0.1") }, "without a user and a password"],
  [{ kubeConfig: kubeConfigOf("ftp://localhost") }, "server is not a URL"],
  [{ kubeConfig: kubeConfigOf("http://localhost.acme.com") }, "only for this machine"],
  [{ kubeConfig: kubeConfigOf(SERVER), namespace: "-a" }, "must be at most 63 lower-case letters"],
  [{ kubeConfig: kubeConfigOf(SERVER), namespace: "a".repeat(64) }, "must be at most 63 lower-case letters"],
  [{ kubeConfig: kubeConfigOf(SERVER), namespace: "Team A" }, "must be at most 63 lower-case letters"],
  [{ kubeConfig: kubeConfigOf(SERVER), goCandidates: "yes" }, "goCandidates must be true or false"],
  [{ kubeConfig: kubeConfigOf(SERVER), namespaces: "a" }, "Was 'namespace' meant?"],
];

test.for(REFUSED)("the options %j are refused: %s", ([options, message]) => {
  expect(() => new KubernetesLeaseStore(options)).toThrow(message);
});

test.each<[options: object]>([
  [{ kubeConfig: kubeConfigOf("http://localhost:8080") }],
  [{ kubeConfig: kubeConfigOf("http://127.0.0.1:8080") }],
  [{ kubeConfig: kubeConfigOf("http://[::1]:8080") }],
  [{ kubeConfig: kubeConfigOf(SERVER), namespace: "a".repeat(63) }],
  [{ kubeConfig: { ...kubeConfigOf(SERVER), users: [null, { name: "test", user: null }] } }],
  [{ kubeConfig: clientConfig({ server: SERVER }) }],
  [{ kubeConfig: { ...clientConfig({ server: SERVER }), applyToHTTPSOptions: undefined, applytoHTTPSOptions: () => {} } }],
])("the options %j are taken", (options) => {
  expect(() => new KubernetesLeaseStore(options)).not.toThrow();
});

test("a kubeconfig without a namespace needs the option", () => {
  const config = { ...kubeConfigOf(SERVER), contexts: [{ name: "test", context: { cluster: "test", user: "test" } }] };
  expect(() => new KubernetesLeaseStore({ kubeConfig: config })).toThrow("needs a namespace");
  expect(() => new KubernetesLeaseStore({ kubeConfig: config, namespace: "team-a" })).not.toThrow();
});

test("a message about a kubeconfig shows no token", () => {
  const config = kubeConfigOf("ftp://10.0.0.1", {}, { token: "s3cret" });
  expect(() => new KubernetesLeaseStore({ kubeConfig: config })).toThrow(expect.not.stringContaining("s3cret") as never);
});

test("the address of a pod's API server may be one of IPv6", () => {
  const env = { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "443" };
  expect(podAccess(systemClock, env).server.href).toBe("https://[fd00::1]/");
});
