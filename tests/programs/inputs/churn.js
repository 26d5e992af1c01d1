// Strings, JSON, Buffers, typed arrays and worker threads; prints sums that depend on the seed alone.
'use strict';
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const crypto = require('crypto');
const zlib = require('zlib');

function random(seed) {
    let state = seed >>> 0;
    return (bound) => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return state % bound;
    };
}

function churn(seed, rounds) {
    const next = random(seed);
    const hash = crypto.createHash('sha256');
    const live = new Array(256).fill(null);
    for (let i = 0; i < rounds; i++) {
        const size = 1 << next(16);
        const buffer = Buffer.allocUnsafeSlow(size).fill(i & 255);
        live[next(256)] = buffer;
        const record = { id: i, text: 'x'.repeat(next(200)), list: Array.from({ length: next(40) }, (_, k) => k * i) };
        const text = JSON.stringify({ record, again: [record, record] });
        const back = JSON.parse(text);
        hash.update(back.again[1].text + back.record.list.length);
        if (i % 50 === 0) {
            const packed = zlib.deflateSync(Buffer.from(text.repeat(20)));
            hash.update(String(zlib.inflateSync(packed).length));
        }
        const kept = live[next(256)];
        if (kept) hash.update(kept.subarray(0, 64));
    }
    return hash.digest('hex');
}

if (isMainThread) {
    const results = [];
    let left = 4;
    for (let n = 0; n < 4; n++) {
        const worker = new Worker(__filename, { workerData: { seed: n + 1, rounds: 12000 } });
        worker.on('message', (text) => { results[n] = text; });
        worker.on('exit', (code) => {
            if (code !== 0) process.exitCode = 1;
            if (--left === 0) console.log([churn(99, 12000), ...results].join('\n'));
        });
    }
} else {
    parentPort.postMessage(churn(workerData.seed, workerData.rounds));
}
