import { ProcessClock, VirtualClock } from "@leasehold/core/testing";
import { describe, expect, test } from "vitest";

function process(options?: ConstructorParameters<typeof ProcessClock>[1]) {
  const world = new VirtualClock();
  const clock = new ProcessClock(world, options);
  const ran: string[] = [];
  return { world, clock, ran, note: (what: string) => () => void ran.push(what) };
}

describe("the clocks of one process", () => {
  test("run at their own rates, and so do the timers", async () => {
    const { world, clock, ran, note } = process({ rate: 2, wallRate: 0.5, wallOffsetMs: 7 });
    const [monotonicMs, wallMs, trueWallMs] = [clock.monotonicMs(), clock.wallMs(), world.wallMs()];
    clock.setTimer(note("after 1,000 of its own"), 1_000);
    await world.advance(499);
    expect(ran).toEqual([]);
    await world.advance(2);

    expect(ran).toEqual(["after 1,000 of its own"]);
    expect(clock.monotonicMs() - monotonicMs).toBeCloseTo(1_002);
    expect(wallMs - trueWallMs).toBe(7);
    expect(clock.wallMs() - wallMs).toBeCloseTo(250.5);
  });

  test("go on during a pause; only the monotonic clock stands still, and only during a suspension", async () => {
    const { world, clock } = process();
    const [monotonicMs, wallMs] = [clock.monotonicMs(), clock.wallMs()];
    clock.pause();
    await world.advance(1_000);
    clock.resume();
    expect([clock.monotonicMs() - monotonicMs, clock.wallMs() - wallMs]).toEqual([1_000, 1_000]);

    clock.suspend();
    expect(clock.running).toBe(false);
    await world.advance(1_000);
    expect(clock.monotonicMs() - monotonicMs).toBe(1_000);
    clock.resume();

    expect([clock.monotonicMs() - monotonicMs, clock.wallMs() - wallMs]).toEqual([1_000, 2_000]);
    expect(clock.running).toBe(true);
  });
});

describe("a process that is paused", () => {
  test("runs due timers and arrived replies in order, each with everything that it starts", async () => {
    const { world, clock, ran, note } = process();
    clock.setTimer(() => void Promise.resolve().then(note("set off by the timer")), 100);
    world.setTimer(() => clock.deliver(note("a reply")), 200);
    clock.pause();
    await world.advance(1_000);
    expect(ran).toEqual([]);
    clock.resume();
    await world.advance(0);

    expect(ran).toEqual(["set off by the timer", "a reply"]);
  });

  test("that was suspended waits for the rest of its timers' time", async () => {
    const { world, clock, ran, note } = process();
    clock.setTimer(note("late"), 100);
    clock.suspend();
    await world.advance(1_000);
    clock.resume();
    await world.advance(99);
    expect(ran).toEqual([]);
    await world.advance(2);

    expect(ran).toEqual(["late"]);
  });

  test("does not run a timer that an earlier callback cancelled", async () => {
    const { world, clock, ran, note } = process();
    const second = clock.setTimer(note("second"), 200);
    clock.setTimer(() => second.cancel(), 100);
    clock.pause();
    await world.advance(1_000);
    clock.resume();
    await world.advance(1);

    expect(ran).toEqual([]);
  });
});

test("a killed process runs nothing any more, not even replies on their way", async () => {
  const { world, clock, ran, note } = process();
  clock.setTimer(note("a timer"), 100);
  world.setTimer(() => clock.deliver(note("a reply")), 100);
  clock.pause();
  await world.advance(200);
  clock.kill();
  clock.resume();
  await world.advance(1_000);

  expect(ran).toEqual([]);
  expect([clock.alive, clock.running]).toEqual([false, false]);
});
