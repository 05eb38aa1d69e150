import { SqlLeaseStore } from "@leasehold/sql";
import { describe, test } from "vitest";
import { LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { postgresMissing, startPostgres } from "@leasehold/test-kit/backends/postgres";
import { startTcpFaultProxy } from "@leasehold/test-kit/faults/tcp-fault-proxy";

describe.skipIf(await isMissing(postgresMissing()))("a store on PostgreSQL", () => {
  test("is closed although a connection that was under way broke before it was given back", async ({
    expect,
    onTestFinished,
  }) => {
    const server = await startPostgres();
    onTestFinished(() => server.stop());
    const proxy = await startTcpFaultProxy(server.port);
    onTestFinished(() => proxy.stop());
    const store = new SqlLeaseStore({ postgres: server.url.replace(`:${server.port}/`, `:${proxy.port}/`) });
    await store.migrate();
    const lease = await win(store);
    proxy.loseReplies();
    const renewal = store.renew(lease, LIMITS).catch((error: unknown) => error);
    await proxy.waitForReplies();

    const closed = store.close();
    proxy.cut();

    await expect(closed).resolves.toBeUndefined();
    await expect(renewal).resolves.toMatchObject({ code: "STORE_UNAVAILABLE" });
  });
});
