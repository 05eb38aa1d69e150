import { readFile } from "node:fs/promises";
import type { TerraformStack } from "cdktn";
import { describe, expect, test } from "vitest";
import { CandidateApp, ElectionAlerts, RunAlerts, type ElectionAlertsProps, type RunAlertsProps } from "@leasehold/infra-azure";
import { emptyStack, GROUP, leasesIn, synthesized, type Resource } from "./synthesized.ts";

const RULE = "azurerm_monitor_scheduled_query_rules_alert_v2";
const ACTIONS = { resourceGroup: GROUP, actionGroupIds: ["/page"] };

function electionAlertsIn(stack: TerraformStack, props: Partial<ElectionAlertsProps> = {}): void {
  const app = new CandidateApp(stack, "App", {
    leases: leasesIn(stack),
    elections: ["billing"],
    resourceGroup: GROUP,
    name: "billing",
    image: "registry.example/billing:1",
    containerEnvironment: { id: "/environment", workspaceId: "/workspace" },
  });
  new ElectionAlerts(stack, "Alerts", { ...ACTIONS, name: "billing", app, election: "billing", ...props });
}

function runAlertsIn(stack: TerraformStack, props: Partial<RunAlertsProps> = {}): readonly Resource[] {
  const runs = { workspaceId: "/workspace", doneQuery: "Done", failedQuery: "Failed" };
  new RunAlerts(stack, "Alerts", { ...ACTIONS, name: "report", of: { runs }, notRunForHours: 25, ...props });
  return synthesized(stack).of(RULE);
}

function named(rules: readonly Resource[], name: string): Resource | undefined {
  return rules.find((rule) => rule["name"] === name);
}

describe("alerts of an election", () => {
  const stack = emptyStack();
  electionAlertsIn(stack);
  const { of } = synthesized(stack);
  const rules = of(RULE);

  test("go off when no leader reports, even if no replica runs", () => {
    expect(named(rules, "billing-no-leader")).toMatchObject({
      scopes: ["/workspace"],
      criteria: [
        {
          query: expect.stringMatching(/tostring\(line\.Election\) == "billing" and toint\(line\.HasLeader\) == 1$/),
          time_aggregation_method: "Count",
          operator: "LessThan",
          threshold: 1,
        },
      ],
      action: { action_groups: ["/page"] },
    });
  });

  test("use the query that the page on metric lines publishes", async () => {
    const page = await readFile(new URL("../../../site/pages/metric-lines.md", import.meta.url), "utf8");
    const [{ query }] = named(rules, "billing-no-leader")!["criteria"] as [{ query: string }];
    expect(page).toContain(query.replace("billing", "nightly-billing"));
  });

  test("go off for too many terms, but not for many lines of one term", () => {
    expect(named(rules, "billing-flapping")).toMatchObject({
      criteria: [{ query: expect.stringMatching(/toint\(line\.Transitions\) == 1$/), operator: "GreaterThan", threshold: 5 }],
    });
  });

  test("go off before the first line of output, which makes the table that they query", () => {
    const existing = "(datatable(TimeGenerated:datetime, Log_s:string)[])";
    const [{ query }] = named(rules, "billing-no-leader")!["criteria"] as [{ query: string }];
    expect(query.split("\n")[0]).toBe(`union isfuzzy=true ${existing}, ContainerAppConsoleLogs_CL`);
  });

  test("filter by the exact name of the election", () => {
    const other = emptyStack();
    electionAlertsIn(other, { election: 'a"b ${x} %{y} ü' });
    const rule = named(synthesized(other).of(RULE), "billing-no-leader");
    const query = 'tostring(line.Election) == "a\\u0022b \\u0024\\u007bx\\u007d \\u0025\\u007by\\u007d \\u00fc"';
    expect(rule).toMatchObject({ criteria: [{ query: expect.stringContaining(query) }] });
  });

  test.each([
    ["an empty name", { election: "" }, "is empty"],
    ["no transitions", { maxTransitions: 0 }, "maxTransitions is 0"],
  ])("refuse %s", (_, props, message) => {
    expect(() => electionAlertsIn(emptyStack(), props)).toThrow(message);
  });
});

describe("alerts of a schedule", () => {
  test("go off when nothing was done for so many hours, and when a run failed", () => {
    const rules = runAlertsIn(emptyStack());
    expect(named(rules, "report-not-run")).toMatchObject({
      window_duration: "P2D",
      criteria: [{ query: "Done\n| where TimeGenerated > ago(25h)", operator: "LessThan", threshold: 1 }],
    });
    expect(named(rules, "report-failed")).toMatchObject({
      window_duration: "PT15M",
      criteria: [{ query: "Failed", operator: "GreaterThan", threshold: 0 }],
    });
  });

  test.each([
    [1, "PT1H"],
    [6, "PT6H"],
    [7, "P1D"],
    [48, "P2D"],
  ])("look back for %d hours, in a window that Azure has", (notRunForHours, window) => {
    const rules = runAlertsIn(emptyStack(), { notRunForHours });
    expect(named(rules, "report-not-run")).toMatchObject({ window_duration: window });
  });

  test("look for no missing run of a schedule that no window covers", () => {
    const rules = runAlertsIn(emptyStack(), { notRunForHours: undefined });
    expect(rules.map((rule) => String(rule["name"]))).toEqual(["report-failed"]);
  });

  test("notify nobody by default", () => {
    expect(runAlertsIn(emptyStack(), { actionGroupIds: [] })[0]).not.toHaveProperty("action");
  });

  test.each([0, 1.5, 49, Number.NaN])("refuse %d hours", (notRunForHours) => {
    expect(() => runAlertsIn(emptyStack(), { notRunForHours })).toThrow("notRunForHours is");
  });
});
