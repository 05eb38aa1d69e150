/** The long suite of the second client of Redis, with its oldest version. */
import "../../packages/redis/test/conformance-on-node-redis.long.test.ts";
