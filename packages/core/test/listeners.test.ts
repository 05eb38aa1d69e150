import { describe, expect, test } from "vitest";
import { Listeners } from "../src/reporting/listeners.ts";

interface Events {
  readonly rang: { readonly times: number };
}

function make(): { readonly listeners: Listeners<Events>; readonly failures: Array<readonly [string, unknown]> } {
  const failures: Array<readonly [string, unknown]> = [];
  return { listeners: new Listeners<Events>((where, error) => failures.push([where, error])), failures };
}

describe("Listeners", () => {
  test("every listener gets every event until it is removed", () => {
    const { listeners } = make();
    const heard: string[] = [];
    const removeA = listeners.add("rang", ({ times }) => heard.push(`a${times}`));
    listeners.add("rang", ({ times }) => heard.push(`b${times}`));

    listeners.emit("rang", { times: 1 });
    removeA();
    listeners.emit("rang", { times: 2 });

    expect(heard).toEqual(["a1", "b1", "b2"]);
  });

  test("a listener that throws, at once or later, is reported and affects no other listener", async () => {
    const { listeners, failures } = make();
    const heard: string[] = [];
    listeners.add("rang", () => {
      throw new Error("at once");
    });
    listeners.add("rang", () => Promise.reject(new Error("later")));
    listeners.add("rang", () => heard.push("heard"));

    listeners.emit("rang", { times: 1 });
    await Promise.resolve();

    expect(heard).toEqual(["heard"]);
    expect(failures).toEqual([
      ["rang", new Error("at once")],
      ["rang", new Error("later")],
    ]);
  });

  test("removing a listener twice does not remove another one", () => {
    const { listeners } = make();
    const heard: string[] = [];
    const removeA = listeners.add("rang", () => heard.push("a"));
    removeA();
    listeners.add("rang", () => heard.push("b"));

    removeA();
    listeners.emit("rang", { times: 1 });

    expect(heard).toEqual(["b"]);
  });

  test("a listener may remove itself while it is called", () => {
    const { listeners } = make();
    const heard: string[] = [];
    const remove = listeners.add("rang", () => {
      remove();
      heard.push("a");
    });
    listeners.add("rang", () => heard.push("b"));

    listeners.emit("rang", { times: 1 });
    listeners.emit("rang", { times: 2 });

    expect(heard).toEqual(["a", "b", "b"]);
  });
});
