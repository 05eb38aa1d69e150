import { MemoryLeaseStore } from "@leasehold/core";
import { MemoryRecordStore } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { Figures } from "../src/serve/figures.ts";
import { Histogram, Family, familyText, histogramText } from "../src/serve/metric-family.ts";
import { Connection } from "./polled-store.ts";
import { ELECTION, Sidecar } from "./sidecar.ts";

test("a histogram counts each value in every bucket that includes it, and all others in +Inf", () => {
  const family = new Family(() => new Histogram([0.5, 1]));
  for (const seconds of [0.25, 0.5, 0.75, 8]) family.of({ store: "s" }).value.observe(seconds);
  expect(histogramText("took_seconds", "How long.", family)).toBe(
    [
      "# HELP took_seconds How long.",
      "# TYPE took_seconds histogram",
      'took_seconds_bucket{store="s",le="0.5"} 2',
      'took_seconds_bucket{store="s",le="1"} 3',
      'took_seconds_bucket{store="s",le="+Inf"} 4',
      'took_seconds_sum{store="s"} 9.5',
      'took_seconds_count{store="s"} 4',
      "",
    ].join("\n"),
  );
});

test("labels are escaped, and a family without series is left out", () => {
  const family = new Family(() => 0);
  expect(familyText("led", "counter", "Who.", family)).toBe("");
  family.of({ election: 'a"b\\c\nd' }).value += 1;
  expect(familyText("led", "counter", "Who.", family)).toContain('led{election="a\\"b\\\\c\\nd"} 1\n');
});

test("milliseconds become seconds", () => {
  using figures = new Figures();
  figures.renewal("e", 250, "ok");
  figures.takeover("e", 1_500);
  figures.request({ store: "s", election: "e", operation: "put", writes: true, outcome: "ok", durationMs: 40 });
  const text = figures.text([]);
  expect(text).toContain('leasehold_renewal_duration_seconds_sum{election="e",outcome="ok"} 0.25\n');
  expect(text).toContain('leasehold_takeover_duration_seconds_sum{election="e"} 1.5\n');
  expect(text).toContain('leasehold_store_request_duration_seconds_sum{store="s",operation="put",outcome="ok"} 0.04\n');
});

test("/metrics shows who leads, takeovers, renewals and requests", async () => {
  const clock = new VirtualClock();
  const service = new MemoryRecordStore(clock);
  const toA = new Connection(service);
  await using a = await new Sidecar("a", toA.store(clock), clock).start();
  await clock.advance(10_000);
  const text = async (): Promise<string> => (await a.ask("/metrics")).body;

  expect((await a.ask("/metrics")).headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
  for (const line of [
    `leasehold_leader{election="${ELECTION}"} 1`,
    `leasehold_lease_remaining_seconds{election="${ELECTION}"} 13.4`,
    `leasehold_term{election="${ELECTION}"} 1`,
    `leasehold_candidates{election="${ELECTION}",state="leading"} 1`,
    `leasehold_candidates{election="${ELECTION}",state="standby"} 0`,
    `leasehold_lease_duration_seconds{election="${ELECTION}"} 15`,
    `leasehold_transitions_total{election="${ELECTION}",reason="elected"} 1`,
    // A counter must begin at zero, otherwise Prometheus misses its first step.
    `leasehold_overruns_total{election="${ELECTION}"} 0`,
    `leasehold_renewal_duration_seconds_count{election="${ELECTION}",outcome="ok"} 2`,
    'leasehold_store_request_duration_seconds_count{store="polled",operation="put",outcome="ok"} 3',
  ]) {
    expect(await text()).toContain(`${line}\n`);
  }
  toA.isCut = true;
  await clock.advance(15_000);

  for (const line of [
    `leasehold_leader{election="${ELECTION}"} 0`,
    `leasehold_lease_remaining_seconds{election="${ELECTION}"} 0`,
    `leasehold_transitions_total{election="${ELECTION}",reason="renew-deadline"} 1`,
    `leasehold_candidates{election="${ELECTION}",state="standby"} 1`,
  ]) {
    expect(await text()).toContain(`${line}\n`);
  }
  expect(await text()).not.toContain("leasehold_term");
  expect(await text()).toMatch(/outcome="STORE_UNAVAILABLE"\} \d/);
  toA.isCut = false;
  await clock.advance(60_000);
  expect(await text()).toMatch(new RegExp(`leasehold_takeover_duration_seconds_count\\{election="${ELECTION}"\\} 1\\n`));
});

test("a sidecar's metrics are of its own electors, and have no other labels", async () => {
  const clock = new VirtualClock();
  const store = new MemoryLeaseStore({ clock });
  await using a = await new Sidecar("candidate-with-a-name", store, clock).start();
  expect((await a.ask("/metrics")).body).not.toContain("candidate-with-a-name");
});
