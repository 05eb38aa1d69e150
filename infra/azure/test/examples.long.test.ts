import { fileURLToPath } from "node:url";
import { startAzuriteWithIdentity, type AzuriteWithIdentity } from "@leasehold/test-kit/backends/azurite-with-identity";
import { opensslMissing } from "@leasehold/test-kit/backends/certificates";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ExampleProcess, type Line } from "@leasehold/test-kit/processes/example-process";
import { clientIds, deployed, settingsOf, written, type Settings } from "./stack-settings.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const NODE = [process.execPath, "--conditions=@leasehold/source"] as const;

/** Starts the candidate of examples/azure-container-apps from its source, with these settings and any free port. */
function start(env: Settings): ExampleProcess {
  const own = { ...env, HEALTH_PORT: "0" };
  return new ExampleProcess({ folder: `${root}examples/azure-container-apps` }, [...NODE, "src/candidate.ts"], own);
}

/** Invokes the function of examples/azure-functions once, from its source, with these settings. */
function invokeReport(env: Settings, ...how: readonly "dies"[]): ExampleProcess {
  const folder = `${root}examples/azure-functions`;
  const program = [`${root}test/suites/examples/azure-child.ts`, `${folder}/src/nightly-report.ts`, "nightlyReport"] as const;
  return new ExampleProcess({ folder }, [...NODE, ...program, ...how], env);
}

/** Tells whether an alert rule counts a line. It evaluates the part of Kusto that these rules use. */
function counts(rule: string, line: Line): boolean {
  const conditions = [...queryOf(rule).matchAll(/to(?:string|int)\(line\.(\w+)\) == ("[^"]*"|1)/g)];
  expect(conditions).toHaveLength(2);
  return conditions.every(([, field = "", value = ""]) => line[field] === JSON.parse(value));
}

/** Tells whether the rule for functions counts a line of `onlyAsLeader`. */
function countsInvocation(rule: string, logs: readonly string[]): boolean {
  const query = queryOf(rule);
  const [, election = ""] = /tostring\(line\.election\) == ("[^"]*")/.exec(query) ?? [];
  expect(query).toContain('where tostring(line.outcome) == "ran" or tostring(line.reason) == "done"');
  const lines = logs.filter((text) => text.startsWith("{")).map((text) => JSON.parse(text) as Line);
  return lines.some(
    (line) => line["election"] === JSON.parse(election) && (line["outcome"] === "ran" || line["reason"] === "done"),
  );
}

function queryOf(rule: string): string {
  const found = written.of("azurerm_monitor_scheduled_query_rules_alert_v2").find((each) => each["name"] === rule);
  const [{ query }] = found!["criteria"] as [{ query: string }];
  return query;
}

describe.skipIf(await isMissing(opensslMissing())).concurrent("the examples, with the settings of the app", () => {
  let azure: AzuriteWithIdentity;

  /** The environment of a deployed program: the stack's settings, and the platform's own. */
  function settings(type: Parameters<typeof settingsOf>[0]): Settings {
    return { ...deployed(settingsOf(type), azure.accountUrl), ...azure.environment };
  }

  beforeAll(async () => {
    azure = await startAzuriteWithIdentity(...clientIds);
    await azure.createContainer("leases");
  });

  afterAll(async () => azure[Symbol.asyncDispose]());

  test("a candidate leads with its identity, prints a line that an alert counts, and ends on SIGTERM", async () => {
    await using candidate = start(settings("azurerm_container_app"));

    const line = await candidate.said(({ IsLeader: leads }) => leads === 1);
    candidate.signal("SIGTERM");

    expect(line).toMatchObject({ Election: "billing", Term: 1 });
    expect(counts("billing-no-leader", line)).toBe(true);
    expect(await candidate.ended, candidate.history).toBe(0);
  });

  test("a candidate with an unknown identity is refused", async () => {
    const stranger = { ...settings("azurerm_container_app"), AZURE_CLIENT_ID: "a stranger" };
    await using candidate = start(stranger);

    expect(await candidate.ended).toBe(1);
    expect(candidate.history).toContain("STORE_UNAUTHENTICATED");
  });

  test("a function makes its night's report once, and prints a line each time that an alert counts", async () => {
    const invocations: { readonly logs: readonly string[] }[] = [];
    for (let delivery = 0; delivery < 2; delivery += 1) {
      await using invoked = invokeReport(settings("azapi_resource"));
      expect(await invoked.ended, invoked.history).toBe(0);
      invocations.push(...(invoked.lines as unknown as typeof invocations));
    }
    const [first, second] = invocations.map(({ logs }) => logs.filter((text) => text.startsWith("report")));
    expect(first).toEqual(["report of acme, attempt 1", "report of globex, attempt 1"]);
    expect(second).toEqual([]);
    expect(invocations.map(({ logs }) => countsInvocation("nightly-report-not-run", logs))).toEqual([true, true]);
  });

  test("a function that dies still makes its report: its retries fail until its claim is over, and then one does it", async () => {
    // Use an election of its own and less time. It is enough for a busy machine to observe the claim of the dead one.
    const own = { ELECTION: "short-report", AzureFunctionsJobHost__functionTimeout: "00:00:30" };
    const short = { ...settings("azapi_resource"), ...own };
    await using dying = invokeReport(short, "dies");
    expect(await dying.ended).toBe("SIGKILL");

    const failures: string[] = [];
    for (;;) {
      await using retry = invokeReport(short);
      if ((await retry.ended) === 0) {
        expect(retry.history).toContain("report of globex, attempt 2");
        break;
      }
      failures.push(retry.history);
    }
    for (const failure of failures) expect(failure).toContain("ALREADY_CLAIMED");
    expect(failures).not.toEqual([]);
  });
});
