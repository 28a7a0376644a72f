// A gateway that has been used: calls that worked and failed, searches, programs, marks, reports, keys.

import { Gateway, configure, connectClient, demo, kitbag, testbed, write } from './gateway.mjs';

export async function startUsedGateway() {
    const servers = ['shop', 'desk', 'calendar'].map(demo).join('');
    const gone = '[servers.gone]\ncommand = "no-such-program"\n';
    configure(`[catalog]\ntools = ["submit-feedback"]\n${servers}${testbed('bed')}${gone}`, '');
    kitbag('lock', 'shop');
    const gateway = await Gateway.start();
    kitbag('tools', '--json');
    const call = await connectClient(gateway.base, 'a client');
    for (const order of [1001, 1002, 1003, 9999]) {
        await call('shop__get_order', { order });
    }
    await call('bed__test_error_handling', {});
    await call('shop__get_order', { number: 'unknown' });
    kitbag('search', 'give the customer her money back');
    kitbag('call', 'submit_feedback', '{"kind": "missing_capability", "summary": "No tool reads drawings", "severity": "high"}');
    const program = write('orders.js', 'const { orders } = await tools.shop.list_orders({}); console.log("read"); return orders.length');
    kitbag('run', program);
    kitbag('learned', 'mark', 'shop__refund_order', '--query', 'make up for a broken kettle');
    kitbag('key', 'create', '--role', 'admin', '--label', 'the operator');
    kitbag('key', 'create', '--tenant', 'acme', '--label', 'build machine', '--expires', '3d');
    return gateway;
}
