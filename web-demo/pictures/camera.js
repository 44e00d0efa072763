// The camera: on and off, and what it shows.

/** @param {HTMLVideoElement} video */
export function cameraOn(video) {
  /** @type {MediaStream | undefined} */
  let stream;
  return {
    get on() {
      return stream !== undefined;
    },
    async start() {
      stream = await navigator.mediaDevices.getUserMedia({
        video: { width: 640, height: 480, facingMode: 'environment' },
      });
      const [track] = stream.getVideoTracks();
      video.classList.toggle('mirrored', track.getSettings().facingMode !== 'environment'); // like a mirror
      video.srcObject = stream;
      await video.play();
    },
    stop() {
      for (const track of stream?.getTracks() ?? []) track.stop();
      stream = undefined;
      video.srcObject = null;
    },
  };
}
