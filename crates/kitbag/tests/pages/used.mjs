// A gateway that has been used: servers, calls that worked and failed, searches, reports.

import { Gateway, attempt, configure, demo, kitbag, testbed } from './gateway.mjs';

export async function startUsedGateway() {
    configure(`${demo('shop')}${demo('desk')}${demo('calendar')}${testbed('bed')}[servers.gone]\ncommand = "no-such-program"\n`, '');
    const gateway = await Gateway.start();
    kitbag('tools', '--json');
    for (const message of ['one', 'two', 'three']) {
        kitbag('call', 'bed__echo', JSON.stringify({ message }));
    }
    attempt('call', 'bed__echo', '{"message": 5, "unknown": true}');
    attempt('call', 'bed__test_error_handling', '{}');
    kitbag('search', 'send back a message');
    attempt('search', 'refund an order');
    return gateway;
}
