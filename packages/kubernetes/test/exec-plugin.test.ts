/** The program of a kubeconfig's user: which ones can be used, and what their output means. */
import { ConfigurationError } from "@leasehold/core";
import { expect, test } from "vitest";
import { checkPlugin, runPlugin } from "../src/exec-plugin.ts";

const EXEC = { apiVersion: "v1", command: "aws" };

test.each([
  [EXEC, { args: [], env: {} }],
  [
    { ...EXEC, args: "a", env: {} },
    { args: [], env: {} },
  ],
  [
    { ...EXEC, interactiveMode: "IfAvailable", provideClusterInfo: false },
    { args: [], env: {} },
  ],
  [
    { ...EXEC, args: ["a", 1], env: [{ name: "N", value: 2 }] },
    { args: ["a", "1"], env: { N: "2" } },
  ],
])("the plugin %j can be used", (given, rest) => {
  expect(checkPlugin(given)).toEqual({ ...EXEC, ...rest });
});

test.each([
  [null, "needs apiVersion and command"],
  [{ ...EXEC, apiVersion: 1 }, "needs apiVersion and command"],
  [{ ...EXEC, command: 1 }, "needs apiVersion and command"],
  [{ ...EXEC, command: "" }, "needs apiVersion and command"],
  [{ ...EXEC, interactiveMode: "Always" }, "has interactiveMode Always or provideClusterInfo"],
  [{ ...EXEC, provideClusterInfo: true }, "has interactiveMode Always or provideClusterInfo"],
])("the plugin %j is refused", (given, says) => {
  expect(() => checkPlugin(given)).toThrow(ConfigurationError);
  expect(() => checkPlugin(given)).toThrow(says);
});

/** A plugin that runs a script. */
function plugin(script: string): ReturnType<typeof checkPlugin> {
  return { apiVersion: "v1", command: process.execPath, args: ["-e", script], env: { MINE: "mine" } };
}

test.each([
  [{ token: "t" }, { token: "t" }],
  [
    { clientCertificateData: "c", clientKeyData: "k" },
    { cert: "c", key: "k" },
  ],
  [
    { token: "t", clientCertificateData: "c", clientKeyData: "k", expirationTimestamp: "1970-01-01T00:00:01Z" },
    { token: "t", cert: "c", key: "k", expiresMs: 1_000 },
  ],
  [{ token: "t", expirationTimestamp: "soon" }, { token: "t" }],
])("the status %j gives credentials", async (status, credentials) => {
  await expect(runPlugin(plugin(`console.log(${JSON.stringify(JSON.stringify({ status }))})`))).resolves.toEqual(credentials);
});

test.each(["{}", "null", "no JSON", '{"status":null}', '{"status":{"clientCertificateData":"c"}}', '{"status":{"token":1}}'])(
  "the output %s has no credentials",
  async (output) => {
    const failed = runPlugin(plugin(`console.log(${JSON.stringify(output)})`));
    await expect(failed).rejects.toThrow(`the plugin '${process.execPath}' of the kubeconfig has printed no credentials`);
    await expect(failed).rejects.toMatchObject({ facts: { status: 401, reason: "Unauthorized" } });
  },
);

test("a plugin gets its variables and those of the process, and its failure has its exit code or its signal", async () => {
  const info = { apiVersion: "v1", kind: "ExecCredential", spec: { interactive: false } };
  const token = "[process.env.PATH, process.env.MINE, process.env.KUBERNETES_EXEC_INFO].join()";
  await expect(runPlugin(plugin(`console.log(JSON.stringify({ status: { token: ${token} } }))`))).resolves.toEqual({
    token: [process.env["PATH"], "mine", JSON.stringify(info)].join(","),
  });
  await expect(runPlugin(plugin("process.exit(7)"))).rejects.toThrow("has failed (7)");
  await expect(runPlugin(plugin("process.kill(process.pid)"))).rejects.toThrow("has failed (SIGTERM)");
});
