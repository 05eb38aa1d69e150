import { QuorumLeaseStore } from "@leasehold/quorum";
import { RedisLeaseStore } from "@leasehold/redis";

const member = (url: string): RedisLeaseStore => new RedisLeaseStore({ url });
const store = new QuorumLeaseStore({
  members: {
    a: member("redis://redis-a:6379"),
    b: member("redis://redis-b:6379"),
    c: member("redis://redis-c:6379"),
  },
});
// Not shown:
void store;
